// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posting and dequeuing events. evd_wait.cpp has the sleep and wake-up of waiters, evd_control.cpp
/// the changes to an EVD, evd_flush.cpp the end of a queue pair.
#include "dapl/evd/evd.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/evd/completion.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/traced.hpp"

namespace dapl {
namespace {

/// The ring may grow to this many events whatever the EVD's length: connection events and errors
/// may come faster than the consumer expected when it chose the length.
constexpr DAT_COUNT kProviderEvents = 65536;
constexpr DAT_COUNT kSmallestRing = 16;

}  // namespace

Evd::Evd(Ia& owner, DAT_EVD_FLAGS streams, DAT_COUNT length, std::shared_ptr<SharedChannel> channel,
         verbs::CompletionQueue queue)
    : ia(owner),
      flags(streams),
      detour_(queue ? 0u : kNoQueue),
      length_(length),
      eps_(pool_of(Kind::kEp)),
      channel_(std::move(channel)),
      queue_(std::move(queue)) {
    sem_init(&wake_semaphore_, 0, 0);
    if (!queue_) return;
    held_ = HeldCompletions(owner, queue_->cqe);
    length_ = std::max(length, queue_->cqe);
}

bool Evd::grow_ring() {
    DAT_COUNT larger;
    {
        support::SpinLockGuard lock(lock_);
        if (!ring_.full()) return true;
        larger = std::max(kSmallestRing, 2 * ring_.capacity());
        if (larger > std::max(length_.load(), kProviderEvents) * 2) return false;
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
                note_pending();
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
        set(kDead, true);
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
    Cno* cno = enabled_ ? cno_.load() : nullptr;
    if (cno)
        cno->pin();
    else
        unheard_ = true;
    return cno;
}

Cno* Evd::pin_cno() {
    support::SpinLockGuard lock(lock_);
    return pinned_cno();
}

/// Polls one batch and drops completions that make no event. @return whether the batch was full, so
/// that the device may have more.
bool Evd::poll_device() {
    const int room = held_.make_room();
    if (room == 0) return false;
    ibv_wc* const first = held_.end();
    const int polled = ibv_poll_cq(queue_.get(), room, first);
    counters.count_alone(DCNT_EVD_DEQUEUE_POLL);
    if (polled <= 0) return false;
    counters.count_alone(DCNT_EVD_DEQUEUE_POLL_FOUND, static_cast<std::uint64_t>(polled));
    const auto dropped = [this](const ibv_wc& completion) { return !makes_event(ia, completion); };
    held_.append(static_cast<int>(std::remove_if(first, first + polled, dropped) - first));
    return polled == room;
}

/// Polls until the device is empty or nothing more can be held: counts need everything it has.
void Evd::drain_device() {
    if (!queue_) return;
    while (poll_device()) {
    }
    note_pending();
}

FailedTransfer Evd::take_completion(const ibv_wc& completion, DAT_EVENT& event) {
    if (ia.decoration) [[unlikely]]
        return ia.decoration->take_completion(completion, event);
    return dapl::take_completion(ia, completion, event);
}

/// Consumes a pending event; there must be one. @return the failed transfer, if any, for the caller
/// to pass to break_connection() after the lock is released.
FailedTransfer Evd::take(DAT_EVENT& event) {
    FailedTransfer failed;
    if (ring_.count() > 0) {
        ring_.pop(event);
    } else {
        failed = take_completion(held_.oldest(), event);
        held_.remove_oldest();
    }
    event.evd_handle = handle();
    note_pending();
    return failed;
}

DAT_RETURN Evd::dequeue_slowly(DAT_EVD_HANDLE handle, DAT_EVENT& event) {
    return object_of<Evd>(handle).dequeue_slowly(event);
}

void Evd::keep_polled(DAT_EVD_HANDLE handle) {
    object_of<Evd>(handle).keep_polled();
}

DAT_RETURN Evd::dequeue_slowly(DAT_EVENT& event) {
    FailedTransfer failed;
    Ia& adapter = ia;  // the EVD may be freed once its lock is released
    {
        support::SpinLockGuard lock(lock_);
        if (has(kWaiter | kDead)) return error(DAT_INVALID_STATE);
        if (has(kCountAll) || pending() == 0) drain_device();
        const bool found = pending() > 0;
        counters.count(found ? DCNT_EVD_DEQUEUE_FOUND : DCNT_EVD_DEQUEUE_NOT_FOUND);
        if (!found) return queue_ ? raw(DAT_QUEUE_EMPTY) : error(DAT_QUEUE_EMPTY);
        failed = take(event);
        arm_for_cno();
    }
    if (failed.ep) [[unlikely]]
        break_connection(failed);
    if (adapter.watermark_exceeded.load(std::memory_order_relaxed)) [[unlikely]]
        tell_watermarks(adapter);
    return DAT_SUCCESS;
}

/// Holds polled_, which dequeue() has polled while nothing was held.
void Evd::keep_polled() {
    counters.count_alone(DCNT_EVD_DEQUEUE_POLL);
    counters.count_alone(DCNT_EVD_DEQUEUE_POLL_FOUND);
    held_.make_room();
    if (makes_event(ia, polled_)) {
        *held_.end() = polled_;
        held_.append(1);
    }
    note_pending();
}

void Evd::poll_for_marker() {
    support::SpinLockGuard lock(lock_);
    drain_device();
}

DAT_COUNT Evd::count_receives(const Srq& srq) {
    support::SpinLockGuard lock(lock_);
    drain_device();
    DAT_COUNT count = 0;
    held_.for_each([&](const ibv_wc& completion) {
        if (shared_queue_of(ia, completion) == &srq) ++count;
    });
    return count;
}

DAT_COUNT Evd::count_receives(const Side& receives, DAT_COUNT& span) {
    support::SpinLockGuard lock(lock_);
    drain_device();
    DAT_COUNT count = 0;
    std::uint32_t first = 0;
    std::int32_t oldest = 0, newest = 0;  // relative to the first one found: orders wrap
    held_.for_each_of(receives, [&](const ibv_wc& completion) {
        if (count++ == 0) first = post_order(completion);
        constexpr int kUnused = std::countl_zero(SlotRing::kSequenceMask);
        const auto beside =
            static_cast<std::int32_t>((post_order(completion) - first) << kUnused) >> kUnused;
        oldest = std::min(oldest, beside);
        newest = std::max(newest, beside);
    });
    span = count == 0 ? 0 : newest - oldest + 1;
    return count;
}

DAT_COUNT Evd::count_flushed(const Side& requests) {
    support::SpinLockGuard lock(lock_);
    // The consumer may dequeue some while the device still flushes.
    DAT_COUNT count = requests.taken_flushed.load(std::memory_order_relaxed);
    held_.for_each_of(requests, [&](const ibv_wc& completion) {
        if (completion.status == IBV_WC_WR_FLUSH_ERR) ++count;
    });
    return count;
}

std::uint64_t Evd::work_on_completions() {
    support::SpinLockGuard lock(lock_);
    return held_.work();
}

void Evd::count_always() {
    support::SpinLockGuard lock(lock_);
    set(kCountAll, true);
}

void Evd::query(DAT_EVD_PARAM& parameters) {
    parameters.ia_handle = consumer_handle(ia);
    support::SpinLockGuard lock(lock_);
    parameters.evd_qlen = length_;
    parameters.evd_state =
        static_cast<DAT_EVD_STATE>((enabled_ ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED) |
                                   (waitable_ ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE));
    const Cno* cno = cno_;
    parameters.cno_handle = cno ? cno->handle() : nullptr;
    parameters.evd_flags = flags;
}

Evd::Look Evd::look() const {
    const unsigned found = detours();
    return {length_.load(std::memory_order_relaxed), seen_pending_.load(std::memory_order_relaxed),
            (found & kWaiter) != 0, (found & kDead) != 0, cno_.load(std::memory_order_relaxed)};
}

/// A poll of an empty EVD leaves no trace; else the trace would hold little but empty polls.
DAT_RETURN Evd::dequeue_traced(DAT_EVD_HANDLE handle, DAT_EVENT* event) {
    Evd* evd = from_called_handle<Evd>(handle);
    if (!evd) return error(DAT_INVALID_HANDLE);
    if (!event) return bad_argument(2);
    const std::uint64_t id = evd->id();  // the EVD may be freed by then
    const DAT_RETURN code = evd->dequeue_slowly(*event);
    if (code == DAT_SUCCESS) trace_taken(id, *event);
    return code;
}

}  // namespace dapl
