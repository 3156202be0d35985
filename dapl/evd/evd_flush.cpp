// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How the transfers of a queue pair that ends come into their EVD: those that the device flushes,
/// then those that it says nothing of.
#include <time.h>

#include <chrono>
#include <cstring>

#include "broker/completion.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/work_request.hpp"
#include "dapl/evd/completion.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"

namespace dapl {
namespace {

/// How long a device may say nothing while it flushes. Devices flush at once, but a busy machine
/// lets them wait. Short, since connection_lock is held; siw has nothing to say of what was posted
/// while its peer ended the connection.
constexpr std::chrono::milliseconds kPatience(100);
constexpr timespec kPause{0, 50000};

}  // namespace

std::uint32_t Evd::first_unreported(const Ep& ep, bool receives) {
    drain_device();
    const SlotRing& slots = ep.side(receives).slots;
    if (!receives && ep.requests_finished.load(std::memory_order_relaxed))
        return slots.stopped_at();
    const ibv_wc* const newest = held_.newest_of(ep, receives);
    if (!newest) return slots.first_sequence();
    return (WorkRequestId(newest->wr_id).sequence + 1) & SlotRing::kSequenceMask;
}

void Evd::await_flush(const Ep& ep, bool receives) {
    using Clock = std::chrono::steady_clock;
    const std::uint32_t end = ep.side(receives).slots.stopped_at();
    std::uint32_t reported = end;
    for (Clock::time_point deadline; reported == end || Clock::now() < deadline;) {
        {
            support::SpinLockGuard lock(lock_);
            const std::uint32_t now = first_unreported(ep, receives);
            if (now == end) return;
            if (now != reported) deadline = Clock::now() + kPatience;
            reported = now;
        }
        nanosleep(&kPause, nullptr);
    }
}

void Evd::hold_flushed(std::uint64_t id) {
    if (held_.make_room() == 0) {
        lost_flush_ = true;
        return;
    }
    ibv_wc& completion = *held_.end();
    std::memset(&completion, 0, sizeof completion);
    completion.wr_id = id;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    held_.append(1);
    note_pending();
}

void Evd::hold_unreported(const Ep& ep, bool receives) {
    const SlotRing& slots = ep.side(receives).slots;
    std::uint32_t sequence = first_unreported(ep, receives);
    for (bool was_posted = true;; sequence = (sequence + 1) & SlotRing::kSequenceMask) {
        was_posted = was_posted && sequence != slots.stopped_at();
        if (sequence == slots.next_sequence()) return;
        // What the device got may have gone well without a word.
        const std::uint32_t operation = slots.at(sequence).operation.load();
        if (!was_posted || (operation & Slot::kSuppressed) == 0)
            hold_flushed(slots.id_of(sequence));
    }
}

void Evd::end_flush(Ep& ep, bool receives) {
    support::SpinLockGuard lock(lock_);
    hold_unreported(ep, receives);
    ep.side(receives).work_request_base.store(Ep::Side::kNoWorkRequests, std::memory_order_release);
}

void Evd::flush(std::uint64_t id) {
    support::SpinLockGuard lock(lock_);
    drain_device();
    hold_flushed(id);
}

void Evd::tell_flushed() {
    if (lost_flush_.exchange(false)) post_async_event(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, handle());
    announced(nullptr);
}

/// @return whether the ring had room for all.
bool Evd::retire_held(Ep& ep, bool receives) {
    EventRing* const ring = &ring_;
    const bool all = held_.remove_of(ep, receives, [this, ring](const ibv_wc& completion) {
        if (ring->full()) return false;
        DAT_EVENT event;
        std::memset(&event, 0, sizeof event);
        if (ia.registrations)
            memory::take_completion(ia, completion, event);
        else
            take_completion(ia, completion, event);
        ring->push(event);
        return true;
    });
    note_pending();
    return all;
}

void Evd::retire(Ep& ep, bool receives) {
    for (;;) {
        const bool room = grow_ring();
        support::SpinLockGuard lock(lock_);
        drain_device();
        if (!retire_held(ep, receives) && room) continue;
        // What finds no room is lost.
        held_.remove_of(ep, receives, [](const ibv_wc&) { return true; });
        note_pending();
        ep.side(receives).work_request_base.store(Ep::Side::kNoWorkRequests,
                                                  std::memory_order_release);
        return;
    }
}

}  // namespace dapl
