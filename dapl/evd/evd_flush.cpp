// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// End of a queue pair: completes its transfers in their EVD, first those that the device flushes,
/// then those that it does not report.
#include <time.h>

#include <chrono>
#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/evd/completion.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/transfer/work_request.hpp"

namespace dapl {
namespace {

/// A device may report nothing for so long while it flushes. Devices flush at once, but a busy
/// machine may delay them. Short, since connection_lock is held, and siw never reports what was
/// posted while its peer ended the connection.
constexpr std::chrono::milliseconds kPatience(100);
constexpr timespec kPause{0, 50000};

}  // namespace

std::uint32_t Evd::first_unreported(const Side& side) {
    drain_device();
    if (side.finished.load(std::memory_order_relaxed)) return side.slots.stopped_at();
    const ibv_wc* const newest = held_.newest_of(side);
    if (!newest) return side.slots.first_sequence();
    return (WorkRequestId(newest->wr_id).sequence + 1) & SlotRing::kSequenceMask;
}

void Evd::await_flush(const Side& side) {
    using Clock = std::chrono::steady_clock;
    const std::uint32_t end = side.slots.stopped_at();
    std::uint32_t reported = end;
    for (Clock::time_point deadline; reported == end || Clock::now() < deadline;) {
        {
            support::SpinLockGuard lock(lock_);
            const std::uint32_t now = first_unreported(side);
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

void Evd::hold_unreported(const Side& side) {
    const SlotRing& slots = side.slots;
    std::uint32_t sequence = first_unreported(side);
    for (bool was_posted = true;; sequence = (sequence + 1) & SlotRing::kSequenceMask) {
        was_posted = was_posted && sequence != slots.stopped_at();
        if (sequence == slots.next_sequence()) return;
        // A suppressed request that the device got may have succeeded without a completion.
        const std::uint32_t operation = slots.at(sequence).operation.load();
        if (!was_posted || (operation & Slot::kSuppressed) == 0)
            hold_flushed(slots.id_of(sequence));
    }
}

void Evd::end_flush(Side& side) {
    support::SpinLockGuard lock(lock_);
    hold_unreported(side);
    side.work_request_base.store(Side::kNoWorkRequests, std::memory_order_release);
}

void Evd::flush(std::uint64_t id) {
    support::SpinLockGuard lock(lock_);
    drain_device();
    hold_flushed(id);
}

Evd* Evd::post_flushed(Side& side, DAT_DTO_COOKIE cookie, DAT_SEG_LENGTH length,
                       std::uint32_t operation, TransferUse* use) {
    const std::uint64_t id = side.slots.add(cookie.as_64, length, operation, use);
    if (!side.flushed || !side.evd) return nullptr;
    side.evd->flush(id);
    return side.evd;
}

void Evd::tell_flushed() {
    if (lost_flush_.exchange(false)) post_async_event(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, handle());
    announced(nullptr);
}

/// Moves the held completions of a side to the ring, as events. @return whether all fitted.
bool Evd::retire_held(Side& side) {
    EventRing* const ring = &ring_;
    const bool all =
        held_.remove_of(side, [this, ring](const ibv_wc& completion) NO_THREAD_SAFETY_ANALYSIS {
            if (ring->full()) return false;
            DAT_EVENT event;
            std::memset(&event, 0, sizeof event);
            take_completion(completion, event);
            ring->push(event);
            return true;
        });
    note_pending();
    return all;
}

void Evd::retire(Side& side) {
    for (;;) {
        const bool room = grow_ring();
        support::SpinLockGuard lock(lock_);
        drain_device();
        if (!retire_held(side) && room) continue;
        // Completions that do not fit into the ring are lost.
        held_.remove_of(side, [](const ibv_wc&) { return true; });
        note_pending();
        side.work_request_base.store(Side::kNoWorkRequests, std::memory_order_release);
        return;
    }
}

}  // namespace dapl
