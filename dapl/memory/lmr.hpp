// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Local memory region: a registration. Verbs know no registration that several processes or LMRs
/// share, so each LMR has one of its own, whatever the type of its memory.
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
    /// @param made the registration; asked: what the consumer wanted, as dat_lmr_query gives it
    /// back; memory: where it is in this process.
    Lmr(Ia& owner, Pz& zone, verbs::MemoryRegion made, const DAT_LMR_PARAM& asked, void* memory);
    ~Lmr();

    Ia& ia;
    Pz& pz;
    verbs::MemoryRegion region;
    DAT_LMR_PARAM parameters;
    void* const address;
    std::atomic<int> bindings{0};  ///< of RMRs, some of which may have ended (RmrTable)
    /// By which peers that are in the middle of a transfer have come (unbind_all).
    std::vector<verbs::MemoryWindow> old_windows;

  private:
    void keep_cookie();

    char cookie_[DAT_LMR_COOKIE_SIZE];
};

/// A piece of this process's memory.
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
/// The inputs of dat_lmr_create, as dat_lmr_query tells them.
DAT_LMR_PARAM lmr_inputs(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION& region, DAT_VLEN length,
                         DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type);
/// What dat_lmr_create checks before the device is asked. @return what it is to register.
support::Result<Memory> check_lmr(const Ia* ia, const Pz* pz, const DAT_LMR_PARAM& asked,
                                  const DAT_LMR_HANDLE* handle);
/// @return empty, with errno, when the device refuses, for whatever reason: consumers' registration
/// caches give regions back and try again.
verbs::MemoryRegion register_memory(const Pz& pz, const Memory& memory, const DAT_LMR_PARAM& asked);
/// Makes the LMR of a registration. Throws std::bad_alloc.
/// @param asked in: an lmr_context that is not 0 stays, else it is the device's; out: complete.
Lmr& add_lmr(Pz& pz, verbs::MemoryRegion region, const Memory& memory, DAT_LMR_PARAM& asked);
/// Ends it, with its registration, if that has not ended yet.
void remove_lmr(Lmr& lmr);

/// @return the LMR of the adapter instance that dat_lmr_create() gave this context; nullptr: none.
Lmr* find_lmr(Ia& ia, DAT_LMR_CONTEXT context);

/// @param asked DAT_MEM_PRIV_FLAGS of an LMR or RMR. @param of_region those of the LMR.
/// @return whether peers may use atomic operations there, if the device has them.
bool grants_atomics(unsigned asked, unsigned of_region);

}  // namespace dapl
