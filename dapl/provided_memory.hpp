// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The memory that an adapter instance has given to its consumer (dat_opendat_memory_alloc).
#pragma once

#include <cstddef>
#include <map>

#include "dapl/dat.hpp"
#include "dapl/support/mutex.hpp"

namespace dapl {

class ProvidedMemory {
  public:
    ProvidedMemory() = default;
    /// Takes back what the consumer has left.
    ~ProvidedMemory();
    ProvidedMemory(const ProvidedMemory&) = delete;
    ProvidedMemory& operator=(const ProvidedMemory&) = delete;

    /// Codes as dat_opendat.h documents them. Throws std::bad_alloc.
    DAT_RETURN allocate(DAT_VLEN size, void** address) EXCLUDES(mutex_);
    DAT_RETURN free(void* address) EXCLUDES(mutex_);

  private:
    support::Mutex mutex_;
    std::map<void*, std::size_t> sizes_ GUARDED_BY(mutex_);  ///< by address
};

}  // namespace dapl
