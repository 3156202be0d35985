// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Events in, events out. How a waiter sleeps and is woken is in evd_wait.cpp, what changes an EVD
/// in evd_control.cpp.
#include "dapl/evd.hpp"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dapl/completion.hpp"
#include "dapl/ep.hpp"
#include "dapl/events.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"
#include "dapl/work_request.hpp"

namespace dapl {
namespace {

/// Completions taken from the device at once.
constexpr int kBatch = 16;
/// Connections and errors may come faster than the consumer expected when it chose the length.
constexpr DAT_COUNT kProviderEvents = 65536;
constexpr DAT_COUNT kSmallestRing = 16;
/// Devices flush at once. One that takes no request in the error state, and so no marker, has
/// nothing to tell where the last request was suppressed and well done: the wait has an end.
constexpr int kFlushPolls = 200;

}  // namespace

Evd::Evd(Ia& owner, DAT_EVD_FLAGS streams, DAT_COUNT length, std::shared_ptr<SharedChannel> channel,
         verbs::CompletionQueue queue)
    : ia(owner),
      flags(streams),
      length_(length),
      channel_(std::move(channel)),
      queue_(std::move(queue)) {
    if (!queue_) return;
    held_capacity_ = queue_->cqe;
    held_ = std::make_unique_for_overwrite<ibv_wc[]>(held_capacity_);
    length_ = std::max(length, queue_->cqe);
}

bool Evd::grow_ring() {
    DAT_COUNT larger;
    {
        support::SpinLockGuard lock(lock_);
        if (!ring_.full()) return true;
        larger = std::max(kSmallestRing, 2 * ring_.capacity());
        if (larger > std::max(length_, kProviderEvents) * 2) return false;
    }
    EventRing::Storage storage = EventRing::storage(larger);
    if (!storage) return false;
    support::SpinLockGuard lock(lock_);
    if (larger > ring_.capacity()) storage = ring_.grow(std::move(storage), larger);
    return true;
}

bool Evd::push(const DAT_EVENT& event, Cno** triggered) {
    for (;;) {
        {
            support::SpinLockGuard lock(lock_);
            if (!ring_.full()) {
                ring_.push(event);
                *triggered = pinned_cno();
                return true;
            }
        }
        if (!grow_ring()) return false;
    }
}

bool Evd::post_event(const DAT_EVENT& event) {
    Cno* cno;
    if (push(event, &cno)) {
        wake();
        if (cno) cno->trigger(*this, Agent::kElsewhere);
        return true;
    }
    if (takes(DAT_EVD_ASYNC_FLAG)) {
        support::SpinLockGuard lock(lock_);
        dead_ = true;
    } else {
        post_async_event(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, handle());
    }
    wake();
    return false;
}

DAT_RETURN Evd::post_software_event(DAT_PVOID pointer) {
    DAT_EVENT event;
    std::memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = pointer;
    bool full;
    {
        support::SpinLockGuard lock(lock_);
        full = pending() >= length_;
    }
    Cno* cno;
    if (full || !push(event, &cno)) {
        post_async_event(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, handle());
        return error(DAT_QUEUE_FULL);
    }
    wake();
    if (cno) cno->trigger(*this, Agent::kMayRun);
    return DAT_SUCCESS;
}

Cno* Evd::pinned_cno() {
    Cno* cno = enabled_ ? cno_ : nullptr;
    if (cno) cno->pin();
    return cno;
}

/// @return how many came.
int Evd::poll_device() {
    if (held_first_ == held_end_) held_first_ = held_end_ = 0;
    const int room = std::min(kBatch, held_capacity_ - held_end_);
    if (room == 0) return 0;
    ibv_wc* const first = held_.get() + held_end_;
    const int polled = ibv_poll_cq(queue_.get(), room, first);
    if (polled <= 0) return 0;
    const auto stale = [this](const ibv_wc& completion) {
        if (take_marker(ia, completion)) return true;
        Ep* receiver = shared_receiver(ia, completion);
        if (receiver) receiver->shared->arrived();
        return !receiver && !is_current(ia, completion);
    };
    held_end_ += static_cast<int>(std::remove_if(first, first + polled, stale) - first);
    return polled;
}

void Evd::make_room() {
    if (held_first_ == 0) return;
    std::move(held_.get() + held_first_, held_.get() + held_end_, held_.get());
    held_end_ -= held_first_;
    held_first_ = 0;
}

/// Counts need everything that the device has.
void Evd::drain_device() {
    if (!queue_) return;
    do {
        if (held_end_ == held_capacity_) make_room();
    } while (poll_device() == kBatch);
}

/// @return the EP whose transfer failed, for the caller to break when the lock is dropped.
DAT_HANDLE Evd::take(DAT_EVENT& event) {
    DAT_HANDLE failed = nullptr;
    if (ring_.count() > 0)
        ring_.pop(event);
    else
        failed = take_completion(ia, held_[held_first_++], event);
    event.evd_handle = handle();
    return failed;
}

DAT_RETURN Evd::dequeue(DAT_EVENT* event) {
    DAT_HANDLE failed = nullptr;
    {
        support::SpinLockGuard lock(lock_);
        if (waiter_ || dead_) return error(DAT_INVALID_STATE);
        if (watermarks_)
            drain_device();
        else if (queue_ && pending() == 0)
            poll_device();
        if (pending() == 0) return queue_ ? raw(DAT_QUEUE_EMPTY) : error(DAT_QUEUE_EMPTY);
        failed = take(*event);
    }
    if (failed) break_connection(failed);
    return DAT_SUCCESS;
}

void Evd::poll_for_marker() {
    support::SpinLockGuard lock(lock_);
    drain_device();
}

void Evd::await_flush(Ep& ep, bool receives) {
    const SlotRing& slots = (receives ? ep.receives : ep.requests).slots;
    if (slots.posted() == 0) return;
    const std::uint32_t last = (slots.next_sequence() - 1) & SlotRing::kSequenceMask;
    const auto is_last = [&](const ibv_wc& completion) {
        return is_of_side(ep, receives, completion) &&
               WorkRequestId(completion.wr_id).sequence == last;
    };
    for (int polls = 0; polls < kFlushPolls && slots.posted() > 0; ++polls) {
        {
            support::SpinLockGuard lock(lock_);
            drain_device();
            ibv_wc* const end = held_.get() + held_end_;
            if (std::find_if(held_.get() + held_first_, end, is_last) != end) return;
            if (!receives && ep.requests_finished.load(std::memory_order_relaxed)) return;
        }
        const timespec pause{0, 50000};
        nanosleep(&pause, nullptr);
    }
}

void Evd::retire(Ep& ep, bool receives) {
    const auto of_side = [&](const ibv_wc& completion) {
        return is_of_side(ep, receives, completion);
    };
    for (;;) {
        const bool room = grow_ring();
        support::SpinLockGuard lock(lock_);
        drain_device();
        ibv_wc* const end = held_.get() + held_end_;
        ibv_wc* const found = std::find_if(held_.get() + held_first_, end, of_side);
        if (found == end || !room) {
            held_end_ = static_cast<int>(std::remove_if(found, end, of_side) - held_.get());
            (receives ? ep.receives : ep.requests)
                .incarnation.store(Ep::kNoIncarnation, std::memory_order_release);
            return;
        }
        if (ring_.full()) continue;  // another thread's event took the room
        DAT_EVENT event;
        std::memset(&event, 0, sizeof event);
        take_completion(ia, *found, event);
        ring_.push(event);
        std::move(found + 1, end, found);
        --held_end_;
    }
}

DAT_COUNT Evd::count_receives(const Srq& srq) {
    support::SpinLockGuard lock(lock_);
    drain_device();
    return static_cast<DAT_COUNT>(std::count_if(
        held_.get() + held_first_, held_.get() + held_end_, [&](const ibv_wc& completion) {
            return shared_receiver(ia, completion) && &shared_queue(completion) == &srq;
        }));
}

DAT_COUNT Evd::count_receives(const Ep& ep, DAT_COUNT& span) {
    support::SpinLockGuard lock(lock_);
    drain_device();
    DAT_COUNT count = 0;
    std::uint32_t first = 0;
    std::int32_t oldest = 0, newest = 0;  // beside the first one found: orders wrap
    for (int i = held_first_; i < held_end_; ++i) {
        if (!is_of_side(ep, true, held_[i])) continue;
        if (count++ == 0) first = post_order(held_[i]);
        constexpr int kUnused = std::countl_zero(SlotRing::kSequenceMask);
        const auto beside =
            static_cast<std::int32_t>((post_order(held_[i]) - first) << kUnused) >> kUnused;
        oldest = std::min(oldest, beside);
        newest = std::max(newest, beside);
    }
    span = count == 0 ? 0 : newest - oldest + 1;
    return count;
}

void Evd::count_always() {
    support::SpinLockGuard lock(lock_);
    watermarks_ = true;
}

void Evd::query(DAT_EVD_PARAM& parameters) {
    parameters.ia_handle = consumer_handle(ia);
    support::SpinLockGuard lock(lock_);
    parameters.evd_qlen = length_;
    parameters.evd_state =
        static_cast<DAT_EVD_STATE>((enabled_ ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED) |
                                   (waitable_ ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE));
    parameters.cno_handle = cno_ ? cno_->handle() : nullptr;
    parameters.evd_flags = flags;
}

}  // namespace dapl
