// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Local memory region: a verbs memory region. Verbs has no registration that several processes or
/// LMRs can share, so each LMR has one of its own, whatever the type of its memory.
#pragma once

#include <atomic>
#include <vector>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/base/result.hpp"

namespace dapl {

class Lmr final : public Object<Lmr>, public ListNode<Lmr> {
  public:
    static constexpr Kind kKind = Kind::kLmr;
    /// @param made the registration. @param asked the consumer's parameters, as dat_lmr_query
    /// returns them. @param memory address in this process.
    Lmr(Ia& owner, Pz& zone, verbs::MemoryRegion made, const DAT_LMR_PARAM& asked, void* memory);
    ~Lmr();

    Ia& ia;
    Pz& pz;
    verbs::MemoryRegion region;
    DAT_LMR_PARAM parameters;
    void* const address;
    std::atomic<int> bindings{0};  ///< of RMRs; some of these may have ended (RmrTable)
    /// Replaced windows that could not be freed because a peer was in the middle of a transfer
    /// through them (unbind_all).
    std::vector<verbs::MemoryWindow> old_windows;

  private:
    void keep_cookie();

    char cookie_[DAT_LMR_COOKIE_SIZE];
};

/// A range of this process's memory.
struct Memory {
    void* address;
    DAT_VLEN length;
};

/// The outputs of dat_lmr_create, each of which may be NULL.
struct LmrOutputs {
    DAT_LMR_CONTEXT* lmr_context;
    DAT_RMR_CONTEXT* rmr_context;
    DAT_VLEN* registered_length;
    DAT_VADDR* registered_address;
    void fill(const DAT_LMR_PARAM& made) const;
};
/// @return the inputs of dat_lmr_create, as dat_lmr_query returns them.
DAT_LMR_PARAM lmr_inputs(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION& region, DAT_VLEN length,
                         DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type);
/// Checks the arguments of dat_lmr_create before the device is called. @return the memory to
/// register.
support::Result<Memory> check_lmr(const Ia* ia, const Pz* pz, const DAT_LMR_PARAM& asked,
                                  const DAT_LMR_HANDLE* handle);
/// Registers memory. @return empty if the device refuses, with its errno, or if the range wraps
/// around the address space. Whatever the reason, consumers' registration caches then free regions
/// and try again.
verbs::MemoryRegion register_memory(const Pz& pz, const Memory& memory, const DAT_LMR_PARAM& asked);
/// Makes the LMR of a registration. Throws std::bad_alloc.
/// @param asked in: an lmr_context of 0 is replaced by the lkey; out: complete.
Lmr& add_lmr(Pz& pz, verbs::MemoryRegion region, const Memory& memory, DAT_LMR_PARAM& asked);
/// Removes an LMR from its IA and destroys it, with its registration if that has not ended yet.
void remove_lmr(Lmr& lmr);

/// @return the LMR of the adapter instance to which dat_lmr_create() gave this context, or nullptr.
Lmr* find_lmr(Ia& ia, DAT_LMR_CONTEXT context);

/// @return whether the segment is a part of the region.
bool is_part_of(const DAT_LMR_PARAM& region, const DAT_LMR_TRIPLET& segment);

/// @param asked DAT_MEM_PRIV_FLAGS of an LMR or RMR. @param of_region those of the LMR.
/// @return whether peers may use atomic operations there, if the device has them.
bool grants_atomics(unsigned asked, unsigned of_region);

}  // namespace dapl
