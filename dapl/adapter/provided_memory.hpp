// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The memory that an adapter instance has given to its consumer (dat_opendat_memory_alloc).
#pragma once

#include <cstddef>
#include <map>

#include "dapl/base/dat.hpp"
#include "dapl/verbs/device_extensions.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class ProvidedMemory {
  public:
    explicit ProvidedMemory(const verbs::DeviceExtensions& device) : device_(device) {}
    /// Frees what the consumer has not freed.
    ~ProvidedMemory();
    ProvidedMemory(const ProvidedMemory&) = delete;
    ProvidedMemory& operator=(const ProvidedMemory&) = delete;

    /// Both return the codes that dat_opendat.h documents. Throws std::bad_alloc.
    DAT_RETURN allocate(DAT_VLEN size, void** address) EXCLUDES(mutex_);
    DAT_RETURN free(void* address) EXCLUDES(mutex_);

  private:
    bool device_has_memory() const { return device_.memory_alloc && device_.memory_free; }
    /// @return nullptr if no memory is available.
    void* get(std::size_t size) const;
    void give_back(void* address, std::size_t size) const;

    const verbs::DeviceExtensions device_;
    support::Mutex mutex_;
    std::map<void*, std::size_t> sizes_ GUARDED_BY(mutex_);  ///< by address
};

}  // namespace dapl
