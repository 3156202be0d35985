// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registrations that peers know and that come back: on a device that can suspend a region, it
/// keeps its key while it is away, and a peer that uses the key waits. The device tells the agent
/// thread, which never waits for an entry itself.
#include <algorithm>

#include "broker/client.hpp"
#include "broker/registrations.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/verbs/device_extensions.hpp"
#include "support/log/log.hpp"

namespace dapl::memory {

void Registration::enter_uses_of_peers() {
    const verbs::RegionUses* const uses = counted.load(std::memory_order_acquire);
    SlotUse* const seen = use.load(std::memory_order_relaxed);
    if (!uses || !seen) return;
    const std::uint32_t count = uses->count.load(std::memory_order_relaxed);
    const std::uint32_t more = count - entered.exchange(count, std::memory_order_relaxed);
    if (more == 0) return;
    const Time last = std::min(uses->last.load(std::memory_order_relaxed), now());
    seen->use_count.fetch_add(more, std::memory_order_relaxed);
    if (last > seen->last_use.load(std::memory_order_relaxed))
        seen->last_use.store(last, std::memory_order_relaxed);
}

bool Registrations::go_away(Registration& gone) {
    const auto wanted = [](void* registration) {
        auto& away = *static_cast<Registration*>(registration);
        away.of->want(away);
    };
    if (!device.suspend_region(gone.lmr->region.get(), wanted, &gone)) return false;
    gone.is_away = true;
    return true;
}

/// @return whether the registration was away and is back under its key.
bool Registrations::resume(Registration& away) {
    if (!away.is_away) return false;
    const bool back = device.resume_region(away.lmr->region.get());
    if (!back) away.lmr->region.reset();  // the program has unmapped its memory
    away.is_away = false;
    away.wanted_since = 0;
    return back;
}

/// Has the device count what peers do with a region that has just been registered.
void Registrations::count_uses(Registration& made, ibv_mr& region) {
    const bool counts = made.peers && device.count_region_uses;
    made.entered.store(0, std::memory_order_relaxed);
    made.counted.store(counts ? device.count_region_uses(&region) : nullptr,
                       std::memory_order_release);
}

/// Ends a region for which there is no entry: peers that wait for it get a remote access error.
void Registrations::give_up(Registration& away) {
    support::report<support::kRegistrationLost>(away.lmr->parameters.length,
                                                (now() - away.wanted_since) / 1'000'000);
    away.lmr->region.reset();
    away.is_away = false;
    away.wanted_since = 0;
}

void Registrations::want(Registration& away) {
    if (wanted_.add(away)) client.broker().wake();
}

/// A registration that cannot be brought back now is forgotten: a peer that waits asks again.
void Registrations::bring_back() {
    wanted_.take_all([this](Registration& away) {
        if (!away.mutex.try_lock()) return;  // its holder brings it back, or ends it
        const RegistrationLock lock(away, RegistrationLock::kTaken);
        if (away.lmr && away.is_away && !away.is_coming.load()) request_return(away);
    });
}

void Registrations::request_return(Registration& away) {
    if (away.wanted_since == 0) away.wanted_since = now();
    const DAT_LMR_PARAM& lmr = away.lmr->parameters;
    const Wanted wanted{away.kind, lmr.length};
    if (const auto slot = client.broker().try_take(wanted)) {
        static_cast<void>(reinstate(away, *slot));
        return;
    }
    away.is_coming = true;
    if (client.queue(wanted, PendingReturn{this, &away, lmr.lmr_context})) return;
    away.is_coming = false;
    if (now() - away.wanted_since > patience) give_up(away);
}

/// restore() holds the mutex while it waits for an entry: this thread does not wait for the mutex.
void Registrations::answered(const PendingReturn& pending, SlotId slot) {
    Registration& away = *pending.away;
    if (away.context.load(std::memory_order_acquire) == pending.context) {
        away.is_coming = false;
        if (slot && away.mutex.try_lock()) {
            const RegistrationLock lock(away, RegistrationLock::kTaken);
            if (away.lmr && away.is_away) {
                static_cast<void>(reinstate(away, slot));
                return;
            }
        }
    }
    if (slot) client.broker().release(slot);
}

}  // namespace dapl::memory
