// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registered memory that transfers read and write.
#pragma once

#include <dat2/udat.h>

#include <cstddef>

#include "tools/perf/device.hpp"

namespace perf {

/// Address and rkey of a region, for the other side.
struct RemoteRegion {
    DAT_VADDR address = 0;
    DAT_RMR_CONTEXT context = 0;

    DAT_RMR_TRIPLET at(std::size_t offset, DAT_SEG_LENGTH length) const {
        DAT_RMR_TRIPLET triplet{};
        triplet.virtual_address = address + offset;
        triplet.segment_length = length;
        triplet.rmr_context = context;
        return triplet;
    }
};

class Region {
  public:
    /// Allocates whole zeroed pages and registers them. @param length in bytes, at least 1
    Region(const Device& device, std::size_t length, Memory kind);
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    unsigned char* data() const { return memory_; }
    std::size_t length() const { return length_; }
    /// @return whether the provider's library allocated the memory.
    bool from_library() const { return from_library_; }
    DAT_LMR_TRIPLET at(std::size_t offset, DAT_SEG_LENGTH length) const;
    RemoteRegion remote() const { return {reinterpret_cast<DAT_VADDR>(memory_), rmr_context_}; }

  private:
    void allocate(Memory kind);
    void release();

    DAT_IA_HANDLE ia_;
    unsigned char* memory_ = nullptr;
    std::size_t length_;
    bool from_library_ = false;
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT lmr_context_ = 0;
    DAT_RMR_CONTEXT rmr_context_ = 0;
};

/// Registers `length` bytes, with all privileges that the device offers.
DAT_LMR_HANDLE register_memory(const Device& device, void* memory, std::size_t length,
                               DAT_LMR_CONTEXT& lmr_context, DAT_RMR_CONTEXT& rmr_context);

}  // namespace perf
