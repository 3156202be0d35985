// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Revocation of registrations: announcement, release when idle, end at the deadline.
#include <unistd.h>

#include <algorithm>

#include "broker/brackets.hpp"
#include "broker/client.hpp"
#include "broker/registrations.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/memory/rmr.hpp"

namespace dapl::memory {
namespace {

/// A per-io window grows again this long after the last sign of pressure, in ns, if nobody waits.
constexpr Time kRelief = 100000000;

std::uint64_t microseconds_until(Time deadline) {
    const Time present = now();
    return deadline > present ? (deadline - present) / 1000 : 0;
}

}  // namespace

/// Takes a registration off the device. Unbinds the windows first: a peer that uses one then gets a
/// remote access error, and some devices deregister no region that has windows bound.
bool Registrations::deregister(Registration& gone) {
    Lmr& lmr = *gone.lmr;
    if (!lmr.region || gone.is_away) return true;
    if (!unbind_all(ia, lmr)) return false;
    if (gone.comes_back && gone.peers && can_be_away()) return go_away(gone);
    if (ibv_dereg_mr(lmr.region.get()) != 0) return false;
    static_cast<void>(lmr.region.release());
    return true;
}

void Registrations::give_entry_back(Registration& gone) {
    if (!gone.slot) return;
    gone.use.store(nullptr, std::memory_order_relaxed);
    if (is_per_io(gone)) {
        in_window_.fetch_sub(1, std::memory_order_relaxed);
        widen();
    }
    client.unbind(gone.slot);
    client.broker().release(gone.slot);
    gone.slot = {};
}

/// Deregisters, notifies the consumer and only then releases the entry, so that the consumer knows
/// before anybody else gets it.
bool Registrations::take_away(Registration& gone) {
    if (!deregister(gone)) return false;
    if (!gone.comes_back) tell_revoked(gone);
    give_entry_back(gone);
    return true;
}

/// Takes a registration away if nothing uses it. @return false if something does, with its standing
/// unchanged, or if the device does not deregister it.
bool Registrations::let_go(Registration& idle) {
    const Standing before = idle.standing.load(std::memory_order_relaxed);
    idle.standing.store(Standing::kGone, std::memory_order_seq_cst);
    const bool bound = idle.comes_back && ia.rmr_table->is_bound_to(*idle.lmr);
    if (idle.uses() != 0 || bound) {
        idle.standing.store(before, std::memory_order_seq_cst);
        return false;
    }
    if (before == Standing::kAnnounced) client.broker().accept(idle.slot);
    return take_away(idle);
}

/// Takes a registration away that only requests in send queues use: the device lets them wait until
/// it comes back, which they ask for. Without that, processes that write into each other's memory
/// could each keep what the other one needs.
/// @return false if something else uses it, or on a device that cannot do so.
bool Registrations::leave_requests_waiting(Registration& used) {
    if (!can_be_away()) return false;
    const Standing before = used.standing.load(std::memory_order_relaxed);
    used.standing.store(Standing::kGone, std::memory_order_seq_cst);
    if (used.is_held() || ia.rmr_table->is_bound_to(*used.lmr) || !go_away(used)) {
        used.standing.store(before, std::memory_order_seq_cst);
        return false;
    }
    give_entry_back(used);
    return true;
}

bool Registrations::serve(Registration& registration, SlotId slot) {
    // restore() holds the mutex while it waits for an entry, which this thread may have to provide:
    // so this thread must not wait for the mutex.
    if (!registration.mutex.try_lock()) return false;
    const RegistrationLock lock(registration, RegistrationLock::kTaken);
    if (slot && !(registration.slot == slot)) return true;
    if (!registration.slot || !registration.lmr) return true;
    const SlotUse& use = client.broker().use(registration.slot);
    switch (use.state.load(std::memory_order_acquire)) {
        case SlotState::kAnnounced:
            return serve_announced(registration);
        case SlotState::kReleased:
        case SlotState::kRevoked:
            return serve_revoked(registration);
        default:
            break;
    }
    if (registration.standing.load(std::memory_order_relaxed) == Standing::kAnnounced)
        stay(registration);
    return true;
}

/// Withdraws an announcement: the registration stays.
void Registrations::stay(Registration& kept) {
    kept.goes_when_idle.store(is_per_io(kept), std::memory_order_seq_cst);
    kept.deadline.store(kNever, std::memory_order_relaxed);
    kept.standing.store(Standing::kStanding, std::memory_order_seq_cst);
}

bool Registrations::serve_announced(Registration& announced) {
    const bool first = announced.standing.load(std::memory_order_relaxed) == Standing::kStanding;
    const bool asked = has_handler() && !announced.comes_back;
    if (first) {
        const Time deadline = client.broker().use(announced.slot).deadline.load();
        announced.deadline.store(deadline, std::memory_order_relaxed);
        if (!asked) announced.goes_when_idle.store(true, std::memory_order_seq_cst);
        announced.standing.store(Standing::kAnnounced, std::memory_order_seq_cst);
        if (mode == Mode::kPerIo) make_room_for_others();
        if (asked) {
            DAT_REG_EVENT_DATA data{};
            data.lmr_handle = announced.lmr->handle();
            data.remaining = microseconds_until(deadline);
            tell(DAT_REG_ANNOUNCED_EVENT, data);
        }
    }
    if (asked) return true;  // nothing to do until the consumer answers or the deadline passes
    if (let_go(announced)) return true;
    // Refuses for one grace period, so that the policy chooses another one now and may choose this
    // one again later.
    Broker& broker = client.broker();
    const bool lent_later = announced.comes_back && !is_per_io(announced);
    if (!lent_later || !broker.refuse(announced.slot, now() + broker.terms().grace)) return false;
    stay(announced);
    return true;
}

/// Registrations that come back go when they are idle, messaging buffers too, but at the deadline
/// at the latest; all others go now.
bool Registrations::serve_revoked(Registration& revoked) {
    const bool waits = revoked.comes_back || revoked.kind == Class::kMessaging;
    if (waits) {
        revoked.goes_when_idle.store(true, std::memory_order_seq_cst);
        if (let_go(revoked)) return true;
        if (revoked.comes_back) return leave_requests_waiting(revoked);
        revoked.standing.store(Standing::kGone, std::memory_order_seq_cst);
        if (now() < client.broker().use(revoked.slot).deadline.load(std::memory_order_relaxed))
            return false;
        return end_posted(revoked);
    }
    revoked.standing.store(Standing::kGone, std::memory_order_seq_cst);
    return take_away(revoked);
}

/// Ends a registration whose memory is posted. A device that can end it so skips the receives that
/// name it, as long as the region is not deregistered: that waits until they have come back. On
/// others the next message that takes such a receive ends its connection.
bool Registrations::end_posted(Registration& posted) {
    const auto end = device.end_registration;
    if (!end) return take_away(posted);
    if (!posted.lmr->region || !end(getpid(), posted.lmr->region->lkey)) return false;
    tell_revoked(posted);
    give_entry_back(posted);
    return true;
}

void Registrations::tell_revoked(Registration& gone) {
    DAT_REG_EVENT_DATA data{};
    data.lmr_handle = gone.lmr->handle();
    tell(DAT_REG_REVOKED_EVENT, data);
}

void Registrations::let_idle_go() {
    uncancelled([this](int) {
        idle_.take_all([this](Registration& idle) {
            // Its holder may only look at it: the next call comes back to it.
            if (!idle.mutex.try_lock()) return static_cast<void>(idle_.add(idle));
            const RegistrationLock lock(idle, RegistrationLock::kTaken);
            if (!idle.lmr || !idle.goes_when_idle.load()) return;
            if (idle.slot)
                let_go(idle);
            else if (idle.uses() == 0)
                deregister(idle);  // ended while it was posted
        });
        return kSuccess;
    });
}

bool Registrations::do_others_wait() const {
    return client.broker().waiting() > waiting_.load(std::memory_order_relaxed);
}

/// Halves the window. The announcements of one grace period are one sign of pressure.
void Registrations::make_room_for_others() {
    const Time last = pressed_at_.load(std::memory_order_relaxed);
    if (last != 0 && now() - last < client.broker().terms().grace) return;
    if (do_others_wait()) pressed(in_window_.load(std::memory_order_relaxed) / 2);
}

void Registrations::widen() {
    const std::uint64_t window = window_.load(std::memory_order_relaxed);
    if (window == kNoWindow) return;
    const bool relieved = now() - pressed_at_.load(std::memory_order_relaxed) > kRelief;
    if (relieved && !do_others_wait()) window_.store(window + 1, std::memory_order_relaxed);
}

void Registrations::narrow(std::uint64_t window) {
    if (mode != Mode::kPerIo) return;
    pressed_at_.store(now(), std::memory_order_relaxed);
    window_.store(std::max<std::uint64_t>(window, 1), std::memory_order_relaxed);
}

void Registrations::pressed(std::uint64_t window) {
    narrow(window);
    DAT_REG_EVENT_DATA data{};
    data.window = window;
    tell(DAT_REG_PRESSURE_EVENT, data);
}

void Registrations::close() {
    client.forget(*this);
    attach(nullptr);
}

void Registrations::release_all() {
    brackets->forget_all();
    std::uint32_t made;
    {
        support::SpinLockGuard lock(lock_);
        made = made_;
    }
    for (std::uint32_t index = 0; index < made; ++index) {
        Registration& left = *at(index);
        const RegistrationLock lock(left);
        left.lmr = nullptr;
        give_entry_back(left);
    }
}

}  // namespace dapl::memory
