// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registered memory.
#pragma once

#include <dat2/udat.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace dtest {

/// Registered memory, page aligned.
class Region {
  public:
    /// Allocates and registers the memory. @param length in bytes
    void create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, std::size_t length,
                DAT_MEM_PRIV_FLAGS privileges);
    void free();
    unsigned char* at(std::size_t offset) const { return memory_.get() + offset; }
    DAT_LMR_TRIPLET segment(std::size_t offset, std::size_t length) const;
    DAT_RMR_CONTEXT rmr_context() const { return rmr_context_; }
    DAT_VADDR address() const { return reinterpret_cast<std::uintptr_t>(memory_.get()); }

  private:
    struct Free {
        void operator()(unsigned char* memory) const { ::free(memory); }
    };
    std::unique_ptr<unsigned char, Free> memory_;
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT lmr_context_ = 0;
    DAT_RMR_CONTEXT rmr_context_ = 0;
};

}  // namespace dtest
