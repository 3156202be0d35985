// SPDX-License-Identifier: BSD-2-Clause
#include "broker/brackets.hpp"
#include "broker/entry.hpp"
#include "broker/uses.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/rmr_bind.hpp"

namespace dapl::memory::entry {
namespace {

DAT_RETURN create(Ia* ia, const DAT_LMR_PARAM& parameters, int old_cancel_state,
                  DAT_LMR_HANDLE* lmr) {
    Pz* pz = from_handle<Pz>(parameters.pz_handle);
    const support::Result<Memory> memory = check_lmr(ia, pz, parameters, lmr);
    if (!memory) return dapl::code_of(memory);
    Registrations& registrations = *registrations_of(*ia);
    const bool waits = registrations.mode != Mode::kOn;
    const Time until = waits ? now() + registrations.patience : 0;
    const DAT_RETURN code = registrations.create({pz, *memory, parameters, Class::kRdma},
                                                 {until, old_cancel_state, true}, lmr);
    // Registration caches handle DAT_INSUFFICIENT_RESOURCES only.
    const bool lacking = DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES ||
                         DAT_GET_TYPE(code) == DAT_TIMEOUT_EXPIRED;
    return lacking ? raw(DAT_INSUFFICIENT_RESOURCES) : code;
}

}  // namespace

DAT_RETURN lmr_create(DAT_IA_HANDLE handle, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                      DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                      DAT_VA_TYPE va_type, DAT_LMR_HANDLE* lmr, DAT_LMR_CONTEXT* lmr_context,
                      DAT_RMR_CONTEXT* rmr_context, DAT_VLEN* registered_length,
                      DAT_VADDR* registered_address) {
    const DAT_LMR_PARAM asked = lmr_inputs(type, region, length, pz, privileges, va_type);
    const DAT_RETURN code = uncancelled([&](int old_cancel_state) {
        return create(from_handle<Ia>(handle), asked, old_cancel_state, lmr);
    });
    if (code != DAT_SUCCESS) return code;
    LmrOutputs{lmr_context, rmr_context, registered_length, registered_address}.fill(
        object_of<Lmr>(*lmr).parameters);
    return DAT_SUCCESS;
}

DAT_RETURN lmr_free(DAT_LMR_HANDLE handle) {
    return uncancelled([=](int) -> DAT_RETURN {
        const Lmr* lmr = from_handle<Lmr>(handle);
        if (!lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
        return registrations_of(lmr->ia)->free(handle);
    });
}

/// The zone's windows that the library keeps for brackets are not the program's concern.
DAT_RETURN pz_free(DAT_PZ_HANDLE handle) {
    return uncancelled([=](int) -> DAT_RETURN {
        const Pz* pz = from_handle<Pz>(handle);
        if (!pz) return bad_handle(DAT_INVALID_HANDLE_PZ);
        registrations_of(pz->ia)->brackets->free_windows(*pz);
        return dapl::entry::pz_free(handle);
    });
}

/// Begins a use of the region, so that it stays registered until the bind completes. After that,
/// let_go() keeps a region that comes back for as long as a window is bound to it.
DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr_handle, const DAT_LMR_TRIPLET* triplet,
                    DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
                    DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT* context) {
    const auto bind = [&](TransferUse* use) {
        return bind_rmr(rmr, lmr_handle, triplet, privileges, va_type, ep_handle, cookie, flags,
                        context, use);
    };
    const Ep* ep = from_handle<Ep>(ep_handle);
    Registrations* const registrations = ep ? registrations_of(ep->ia) : nullptr;
    if (!registrations) return bind(nullptr);  // the core reports what is wrong
    const bool binds = triplet && triplet->segment_length != 0;
    const Lmr* lmr = binds ? from_handle<Lmr>(lmr_handle) : nullptr;
    Registration* bound = lmr ? registrations->of(*lmr) : nullptr;
    Uses uses(*registrations, Use::kHold);
    const DAT_RETURN refused = bound ? uses.begin(*bound) : kSuccess;
    if (refused != DAT_SUCCESS) return refused;
    return uses.post(bind);
}

}  // namespace dapl::memory::entry
