// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How a consumer sleeps on an EVD: arm the completion queue, poll it once more, then block in
/// ppoll() on an eventfd and, unless another thread reads it, the completion channel. Whatever
/// happens after the arming makes one of the two readable, so no wake-up is lost. The waiter of an
/// EVD without a completion queue sleeps on a semaphore, which takes one system call, not two.
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/evd/completion.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl {

/// The one waiter, for as long as its frame lives, which a cancellation may end.
class Evd::Waiting {
  public:
    Waiting(Evd& evd, int old_cancel_state) : evd_(evd), old_cancel_state_(old_cancel_state) {}
    ~Waiting() {
        if (may_sleep()) end_sleep();
        support::SpinLockGuard lock(evd_.lock_);
        evd_.set(kWaiter, false);  // last: from here on the EVD may be freed
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    /// From here on every event ends a sleep. The caller must then check once more for events that
    /// came before. @return false, with errno, if the system has no descriptor for it.
    bool prepare_sleep();
    bool may_sleep() const { return may_sleep_; }
    Woken sleep(const Deadline& deadline) {
        return evd_.channel_ ? poll(deadline) : sleep_on_semaphore(deadline);
    }

  private:
    Woken poll(const Deadline& deadline);
    Woken sleep_on_semaphore(const Deadline& deadline);
    void end_sleep();

    Evd& evd_;
    const int old_cancel_state_;
    bool may_sleep_ = false;
    Sleeper sleeper_;
};

bool Evd::Waiting::prepare_sleep() {
    if (evd_.channel_) {
        sleeper_.wake_descriptor = evd_.ia.wake_descriptors.borrow();
        if (sleeper_.wake_descriptor < 0) return false;
        evd_.channel_->join(sleeper_);
    }
    may_sleep_ = true;
    support::SpinLockGuard lock(evd_.lock_);
    evd_.wake_descriptor_ = sleeper_.wake_descriptor;
    return evd_.may_sleep_ = true;
}

void Evd::Waiting::end_sleep() {
    {
        support::SpinLockGuard lock(evd_.lock_);
        evd_.may_sleep_ = false;
        evd_.wake_descriptor_ = -1;
    }
    if (!evd_.channel_) return;
    evd_.channel_->leave(sleeper_);
    evd_.ia.wake_descriptors.give_back(sleeper_.wake_descriptor);
}

Evd::Woken Evd::Waiting::sleep_on_semaphore(const Deadline& deadline) {
    sem_t& semaphore = evd_.wake_semaphore_;
    int failed, error_number;
    {
        const CancellationWindow window(old_cancel_state_);
        failed = deadline.infinite() ? sem_wait(&semaphore)
                                     : sem_clockwait(&semaphore, CLOCK_MONOTONIC, &deadline.at());
        error_number = errno;
    }
    if (failed != 0)
        return error_number == ETIMEDOUT ? Woken::kByTimeout
               : error_number == EINTR   ? Woken::kBySignal
                                         : Woken::kByFailure;
    while (sem_trywait(&semaphore) == 0) continue;  // one look sees the events of several posts
    return Woken::kByEvent;
}

Evd::Woken Evd::Waiting::poll(const Deadline& deadline) {
    pollfd descriptors[2] = {{sleeper_.wake_descriptor, POLLIN, 0}, {-1, POLLIN, 0}};
    descriptors[1].fd = evd_.channel_->descriptor_for(sleeper_);
    const timespec left = deadline.left();
    int ready, error_number;
    {
        const CancellationWindow window(old_cancel_state_);
        ready = ppoll(descriptors, 2, deadline.infinite() ? nullptr : &left, nullptr);
        error_number = errno;
    }
    if (ready == 0) return Woken::kByTimeout;
    if (ready < 0) return error_number == EINTR ? Woken::kBySignal : Woken::kByFailure;
    if (descriptors[0].revents) {
        eventfd_t ignored;
        eventfd_read(sleeper_.wake_descriptor, &ignored);
    }
    if (descriptors[1].revents) evd_.channel_->read(&evd_);
    return Woken::kByEvent;
}

DAT_RETURN Evd::check_wait(DAT_COUNT threshold) {
    if (threshold <= 0 || threshold > length_) return bad_argument(3);
    if (has(kWaiter | kDead) || shut_down_) return error(DAT_INVALID_STATE);
    if (!waitable_) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
    return DAT_SUCCESS;
}

bool Evd::reaches(DAT_COUNT threshold) {
    drain_device();
    return pending() >= threshold;
}

/// @return whether the queue was armed just now, so that the device must be polled once more.
bool Evd::arm() {
    if (!queue_ || armed_) return false;
    armed_ = ibv_req_notify_cq(queue_.get(), 0) == 0;
    return true;
}

/// Arms the queue only when it is empty: a device may notify at once of what an armed queue holds,
/// again and again. If not all of it can be held here, the consumer's next dequeue arms.
void Evd::arm_for_cno() {
    if (!queue_ || armed_ || !cno_ || !enabled_) return;
    drain_device();
    if (held_.make_room() != 0) arm();
}

DAT_RETURN Evd::wait(DAT_TIMEOUT timeout, DAT_COUNT threshold, int old_cancel_state,
                     DAT_EVENT* event, DAT_COUNT* more) {
    {
        support::SpinLockGuard lock(lock_);
        const DAT_RETURN refused = check_wait(threshold);
        if (refused != DAT_SUCCESS) return refused;
        counters.count_alone(DCNT_EVD_WAIT);
        set(kWaiter, true);
    }
    // Until `waiting` is destroyed nobody can free the EVD or close the IA, which the rest uses.
    Waiting waiting(*this, old_cancel_state);
    FailedTransfer failed;
    const DAT_RETURN code = wait_for(threshold, Deadline(timeout), waiting, event, more, &failed);
    if (failed.ep) break_connection(failed);
    tell_watermarks(ia);
    if (ia.decoration) ia.decoration->settle();
    return code;
}

DAT_RETURN Evd::wait_for(DAT_COUNT threshold, const Deadline& deadline, Waiting& waiting,
                         DAT_EVENT* event, DAT_COUNT* more, FailedTransfer* failed) {
    Woken woken = deadline.at_once() ? Woken::kByTimeout : Woken::kByEvent;
    for (;;) {
        {
            support::SpinLockGuard lock(lock_);
            if (has(kDead) || shut_down_ || !waitable_) return error(DAT_INVALID_STATE);
            if (reaches(threshold) || (woken == Woken::kByEvent && arm() && reaches(threshold))) {
                *failed = take(*event);
                *more = pending();
                return DAT_SUCCESS;
            }
            *more = pending();
            if (woken != Woken::kByEvent) {
                const DAT_RETURN code = not_in_time(woken);
                if (code != DAT_SUCCESS) return code;
            }
        }
        tell_watermarks(ia);
        if (waiting.may_sleep()) {
            counters.count(DCNT_EVD_WAIT_BLOCKED);
            woken = waiting.sleep(deadline);
            if (woken == Woken::kByEvent) counters.count(DCNT_EVD_WAIT_NOTIFY);
        } else if (waiting.prepare_sleep())
            woken = Woken::kByEvent;
        else
            return refused_by_system(errno, "a waiting thread").value().code;
    }
}

/// @return DAT_SUCCESS for a signal after which the wait goes on.
DAT_RETURN Evd::not_in_time(Woken woken) {
    // Without a completion queue or with a CNO, the reference implementation waits on a condition
    // variable, which no signal ends, and returns its code with the class bit.
    const bool plain = takes(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG) && !cno_;
    if (woken == Woken::kByTimeout)
        return plain ? raw(DAT_TIMEOUT_EXPIRED) : error(DAT_TIMEOUT_EXPIRED);
    if (woken == Woken::kByFailure) return raw(DAT_INTERNAL_ERROR);
    return ia.signals_end_waits && queue_ && !cno_ ? raw(DAT_INTERRUPTED_CALL) : kSuccess;
}

void Evd::wake() {
    int descriptor;
    {
        support::SpinLockGuard lock(lock_);
        if (!may_sleep_) return;
        descriptor = wake_descriptor_;
    }
    if (descriptor >= 0)
        eventfd_write(descriptor, 1);
    else
        sem_post(&wake_semaphore_);
}

void Evd::announced(const Evd* reader) {
    Cno* cno;
    {
        support::SpinLockGuard lock(lock_);
        armed_ = false;
        counters.count(DCNT_EVD_DTO_CALLBACK);
        arm_for_cno();
        // The completion behind the notification may be dequeued already, or make no event.
        cno = pending() > 0 ? pinned_cno() : nullptr;
    }
    if (reader != this) wake();
    if (cno) cno->trigger(*this, Agent::kElsewhere);
}

}  // namespace dapl
