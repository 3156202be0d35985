// SPDX-License-Identifier: BSD-2-Clause
#include "broker/brackets.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/rmr_bind.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/memory/rmr.hpp"

namespace dapl::memory {
namespace {

/// Returns whether endpoint and memory belong to one zone.
bool share_zone(Ep& ep, const Lmr& lmr) {
    support::SpinLockGuard lock(ep.requests.lock);
    const ibv_qp* queue_pair = ep.requests.queue_pair;
    return queue_pair && queue_pair->pd == lmr.pz.domain.get();
}

Lmr* lmr_of(Registration* named) {
    if (!named) return nullptr;
    const RegistrationLock lock(*named);
    return named->lmr;
}

}  // namespace

DAT_RETURN Brackets::open(Ep& ep, const DAT_LMR_TRIPLET& buffer, DAT_MEM_PRIV_FLAGS privileges,
                          const Wait& wait, DAT_HANDLE& handle, DAT_RMR_TRIPLET& advertised) {
    Registration* region = registrations_.find(buffer.lmr_context);
    Lmr* lmr = lmr_of(region);
    if (!lmr || buffer.segment_length == 0 || !is_part_of(lmr->parameters, buffer))
        return bad_argument(2);
    if ((privileges & kRemotePrivileges) == 0) return bad_argument(3);
    const DAT_EP_STATE state = ep.state.get();
    if (!is_legal(EpCall::kBind, state)) return state_error(state);
    if (!share_zone(ep, *lmr)) return bad_argument(2);
    const auto give_up = [this](Bracket* failed) {
        end_hold(*failed);
        destroy(*failed);
    };
    std::unique_ptr<Bracket, decltype(give_up)> bracket(
        make<Bracket>(&registrations_.ia.provider.table, registrations_), give_up);
    DAT_RMR_TRIPLET found{};
    found.segment_length = buffer.segment_length;
    const Opening opening{ep, buffer, privileges, wait, *region, *lmr, *bracket, found};
    const DAT_RETURN code =
        way_ == BracketWay::kWindows ? bind_window(opening) : register_buffer(opening);
    if (code != DAT_SUCCESS) return code;
    advertised = found;
    handle = bracket->handle();
    support::SpinLockGuard lock(lock_);
    open_.add(*bracket.release());
    return DAT_SUCCESS;
}

DAT_RETURN Brackets::hold(Registration& used, const Opening& opening) {
    std::uint32_t key;
    const DAT_RETURN code =
        registrations_.begin_use(used, Use::kHold, opening.buffer.segment_length, key);
    if (code == DAT_SUCCESS) opening.bracket.held = &used;
    return code;
}

void Brackets::end_hold(Bracket& bracket) {
    if (Registration* held = std::exchange(bracket.held, nullptr))
        registrations_.end_use(*held, Use::kHold);
}

/// The bind makes no event unless it fails: the program has asked for a bracket, not for a bind.
DAT_RETURN Brackets::bind_window(const Opening& opening) {
    DAT_RETURN code = registrations_.restore(opening.region, opening.wait);
    if (code == DAT_SUCCESS) code = hold(opening.region, opening);
    if (code != DAT_SUCCESS) return code;
    Rmr* window = kept_window(opening.lmr.pz);
    if (!window) {
        const support::Result<Rmr*> made = make_rmr(opening.lmr.pz, IBV_MW_TYPE_2);
        if (!made) return made.error().code;
        window = *made;
    }
    DAT_RMR_COOKIE cookie{};
    cookie.as_ptr = opening.bracket.handle();
    const BindRequest request{*window,
                              opening.ep,
                              &opening.lmr,
                              opening.buffer,
                              opening.privileges,
                              DAT_VA_TYPE_VA,
                              cookie,
                              DAT_COMPLETION_SUPPRESS_FLAG};
    code = check_bind(request);
    if (code == DAT_SUCCESS) code = post_bind(request, &opening.advertised.rmr_context);
    if (code != DAT_SUCCESS) {
        if (!keep(*window)) free_rmr(*window);
        return code;
    }
    opening.bracket.window = window;
    opening.advertised.virtual_address = opening.buffer.virtual_address;
    return DAT_SUCCESS;
}

DAT_RETURN Brackets::register_buffer(const Opening& opening) {
    const DAT_LMR_PARAM& region = opening.lmr.parameters;
    const unsigned local = region.mem_priv & ~kRemotePrivileges;
    const bool changes =
        (opening.privileges & kRemotePrivileges & ~unsigned{DAT_MEM_PRIV_REMOTE_READ_FLAG}) != 0;
    if (changes && !(local & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)) return error(DAT_PRIVILEGES_VIOLATION);
    const DAT_VADDR offset = opening.buffer.virtual_address - region.registered_address;
    const Memory memory{static_cast<char*>(opening.lmr.address) + offset,
                        opening.buffer.segment_length};
    DAT_REGION_DESCRIPTION where{};
    where.for_va = memory.address;
    const DAT_LMR_PARAM wanted =
        lmr_inputs(DAT_MEM_TYPE_VIRTUAL, where, memory.length, opening.lmr.pz.handle(),
                   static_cast<DAT_MEM_PRIV_FLAGS>(local | opening.privileges), DAT_VA_TYPE_VA);
    DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
    DAT_RETURN code = registrations_.create({&opening.lmr.pz, memory, wanted, Class::kRdma},
                                            opening.wait, &handle);
    if (code != DAT_SUCCESS) return code;
    Lmr& made = object_of<Lmr>(handle);
    code = hold(*registrations_.of(made), opening);
    if (code != DAT_SUCCESS) {
        registrations_.free(handle);
        return code;
    }
    opening.bracket.lmr = &made;
    opening.advertised.virtual_address = made.parameters.registered_address;
    opening.advertised.rmr_context = made.parameters.rmr_context;
    return DAT_SUCCESS;
}

DAT_RETURN Brackets::close(Bracket& bracket) {
    if (bracket.is_closing.exchange(true)) return bad_handle(DAT_INVALID_HANDLE1);
    end_hold(bracket);
    const DAT_RETURN code = end_access(bracket);
    registrations_.settle();
    if (code != DAT_SUCCESS) {
        bracket.is_closing = false;
        return code;
    }
    {
        support::SpinLockGuard lock(lock_);
        open_.remove(bracket);
    }
    destroy(bracket);
    return DAT_SUCCESS;
}

/// A window that is not bound any more, because the peer has invalidated it or the connection has
/// ended, is kept for the next bracket.
DAT_RETURN Brackets::end_access(Bracket& bracket) {
    if (bracket.lmr) return registrations_.free(bracket.lmr->handle());
    Rmr& window = *bracket.window;
    const bool is_bound = window.ia.rmr_table->binding_of(window).lmr != nullptr;
    if (!is_bound && !bracket.was_refused && keep(window)) return DAT_SUCCESS;
    if (free_rmr(window)) return DAT_SUCCESS;
    bracket.was_refused = true;
    return raw(DAT_INVALID_STATE);
}

/// @return an unbound window of the zone that was kept, or nullptr.
Rmr* Brackets::kept_window(const Pz& pz) {
    support::SpinLockGuard lock(lock_);
    const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(kept_count_);
    const auto found =
        std::find_if(kept_.begin(), end, [&](const Rmr* kept) { return &kept->pz == &pz; });
    if (found == end) return nullptr;
    Rmr* window = *found;
    *found = kept_[--kept_count_];
    return window;
}

/// @return false if enough are kept.
bool Brackets::keep(Rmr& window) {
    support::SpinLockGuard lock(lock_);
    if (kept_count_ == kMostKept) return false;
    kept_[kept_count_++] = &window;
    return true;
}

void Brackets::free_windows(const Pz& pz) {
    while (Rmr* window = kept_window(pz)) free_rmr(*window);
}

void Brackets::forget_all() {
    for (;;) {
        Bracket* left;
        {
            support::SpinLockGuard lock(lock_);
            left = open_.first();
            kept_count_ = 0;
            if (left) open_.remove(*left);
        }
        if (!left) return;
        destroy(*left);
    }
}

}  // namespace dapl::memory
