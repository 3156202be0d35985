// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How the transfers of a queue pair that ends come into their EVD: those that the device flushes,
/// then those that it says nothing of.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "dapl/completion.hpp"
#include "dapl/ep.hpp"
#include "dapl/evd.hpp"
#include "dapl/events.hpp"
#include "dapl/ia.hpp"
#include "dapl/memory/completion.hpp"
#include "dapl/work_request.hpp"

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
    for (int i = held_end_ - 1; i >= held_first_; --i)
        if (is_of_side(ep, receives, held_[i]))
            return (WorkRequestId(held_[i].wr_id).sequence + 1) & SlotRing::kSequenceMask;
    return slots.first_sequence();
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
    if (held_end_ == held_capacity_) make_room();
    if (held_end_ == held_capacity_) {
        lost_flush_ = true;
        return;
    }
    ibv_wc& completion = held_[held_end_++];
    std::memset(&completion, 0, sizeof completion);
    completion.wr_id = id;
    completion.status = IBV_WC_WR_FLUSH_ERR;
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

/// Goes once through what is held, however much of it is the EP's. @return whether the ring had
/// room for all.
bool Evd::retire_held(Ep& ep, bool receives) {
    int kept = held_first_;
    bool all = true;
    for (int i = held_first_; i < held_end_; ++i) {
        if (is_of_side(ep, receives, held_[i]) && !ring_.full()) {
            DAT_EVENT event;
            std::memset(&event, 0, sizeof event);
            if (ia.registrations)
                memory::take_completion(ia, held_[i], event);
            else
                take_completion(ia, held_[i], event);
            ring_.push(event);
            continue;
        }
        all = all && !is_of_side(ep, receives, held_[i]);
        if (kept != i) held_[kept] = held_[i];
        ++kept;
    }
    held_end_ = kept;
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
        ibv_wc* const end = held_.get() + held_end_;
        const auto of_side = [&](const ibv_wc& completion) {
            return is_of_side(ep, receives, completion);
        };
        held_end_ =
            static_cast<int>(std::remove_if(held_.get() + held_first_, end, of_side) - held_.get());
        note_pending();
        ep.side(receives).work_request_base.store(Ep::Side::kNoWorkRequests,
                                                  std::memory_order_release);
        return;
    }
}

}  // namespace dapl
