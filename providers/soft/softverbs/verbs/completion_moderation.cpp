// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// ibv_modify_cq: moderation of the events of a completion queue. Completions are in the queue at
/// once. While the queue is armed for any completion, whoever makes one counts it in
/// CqHeader::notify (take_request_for_event), and raises the event at the limit of completions. The
/// first one that is held makes the owner's service thread start the period.
#include <cerrno>

#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/extended_objects.hpp"

namespace softverbs {

Arm CompletionQueue::arm_for_any() const {
    const std::uint32_t word = moderation_.load(std::memory_order_relaxed);
    return Moderation::decode(word).is_on() ? Arm::kHeld : Arm::kAny;
}

/// Replaces a request for any completion, if there is one. @return whether there is.
bool CompletionQueue::replace_request(Arm mode) {
    std::uint64_t word = header_->notify.load(std::memory_order_seq_cst);
    do {
        const Arm arm = Notify::arm(word);
        if (arm != Arm::kAny && arm != Arm::kHeld) return false;
    } while (!header_->notify.compare_exchange_weak(word, Notify::armed(word, mode),
                                                    std::memory_order_seq_cst));
    return true;
}

/// Lets the completions that wait satisfy a request that some of them may have been counted for.
Wake CompletionQueue::take_request_again() {
    const Arm mode = Notify::arm(header_->notify.load(std::memory_order_seq_cst));
    if (mode == Arm::kHeld) replace_request(mode);
    return take_request();
}

void CompletionQueue::moderate(Moderation limits) {
    Wake found = Wake::kNone;
    {
        support::SpinLockGuard lock(lock_);
        support::SpinLockGuard sends(sends_.lock);
        moderation_.store(limits.encode(), std::memory_order_relaxed);
        header_->moderation.store(limits.encode(), std::memory_order_relaxed);
        period_serial_.fetch_add(1, std::memory_order_relaxed);
        if (replace_request(arm_for_any())) found = take_request();
    }
    wake(found);
}

/// Starts the period of an event that is held, and ends it when its time has come. Called by the
/// service thread as often as one may have begun. A peer can at most make an event early.
void CompletionQueue::watch_period() {
    const std::uint64_t word = header_->notify.load(std::memory_order_seq_cst);
    const auto limits = Moderation::decode(moderation_.load(std::memory_order_relaxed));
    if (Notify::arm(word) != Arm::kHeld || Notify::held(word) == 0 || limits.period == 0) return;
    const std::uint64_t serial =
        Notify::events(word) + period_serial_.load(std::memory_order_relaxed);
    const Deadline now = Clock::now();
    if (serial != period_.serial)
        period_ = {serial, now + std::chrono::microseconds(limits.period)};
    if (now < period_.end)
        adapter().periods.add(period_.end);
    else if (end_hold())
        wake(Wake::kChannel);
}

/// Raises the event that is held. @return false when it has been raised meanwhile.
bool CompletionQueue::end_hold() {
    std::uint64_t word = header_->notify.load(std::memory_order_seq_cst);
    do {
        if (Notify::arm(word) != Arm::kHeld || Notify::held(word) == 0) return false;
    } while (!header_->notify.compare_exchange_weak(word, Notify::disarmed(word),
                                                    std::memory_order_seq_cst));
    return true;
}

/// Only the service thread calls this, so the deadline that was read is still the earliest one when
/// its timer is set: with no lock held, as that allocates.
void Adapter::time_periods() {
    Deadline end;
    {
        support::MutexLock lock(mutex);
        if (periods.next >= periods.timed) return;
        end = periods.next;
    }
    process_.service().at(end, [this] { end_periods(); });
    support::MutexLock lock(mutex);
    periods.timed = end;
}

void Adapter::end_periods() {
    {
        support::MutexLock lock(mutex);
        periods = {};
        cqs_.each([](CompletionQueue& cq) NO_THREAD_SAFETY_ANALYSIS { cq.watch_period(); });
    }
    time_periods();
}

int modify_completion_queue(ibv_cq* cq, ibv_modify_cq_attr* attributes) {
    if (attributes->attr_mask == 0) return also_errno(EINVAL);
    if (attributes->attr_mask != IBV_CQ_ATTR_MODERATE) return also_errno(EOPNOTSUPP);
    const CancellationDisabled guard;
    const ibv_moderate_cq& wish = attributes->moderate;
    CompletionQueue::of(cq).moderate({wish.cq_count, wish.cq_period});
    return 0;
}

}  // namespace softverbs
