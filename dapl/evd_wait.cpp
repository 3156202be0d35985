// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How a consumer sleeps on an EVD: arm the completion queue, poll it once more, then block in
/// ppoll() on the completion channel and an eventfd. Whatever happens after the arming makes one of
/// the two readable, so no wake-up is lost.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <cerrno>

#include "dapl/evd.hpp"
#include "dapl/events.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"

namespace dapl {

/// The one waiter, for as long as its frame lives, which a cancellation may end.
class Evd::Waiting {
  public:
    explicit Waiting(Evd& evd) : evd_(evd) {}
    ~Waiting() {
        support::SpinLockGuard lock(evd_.lock_);
        evd_.waiter_ = false;
    }

  private:
    Evd& evd_;
};

DAT_RETURN Evd::check_wait(DAT_COUNT threshold) {
    if (threshold <= 0 || threshold > length_) return bad_argument(3);
    if (waiter_ || dead_ || shut_down_) return error(DAT_INVALID_STATE);
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

DAT_RETURN Evd::wait(DAT_TIMEOUT timeout, DAT_COUNT threshold, int old_cancel_state,
                     DAT_EVENT* event, DAT_COUNT* more) {
    {
        support::SpinLockGuard lock(lock_);
        const DAT_RETURN refused = check_wait(threshold);
        if (refused != DAT_SUCCESS) return refused;
        waiter_ = true;
    }
    DAT_HANDLE failed = nullptr;
    {
        const Waiting waiting(*this);
        const Deadline deadline(timeout);
        for (Woken woken = timeout == 0 ? Woken::kByTimeout : Woken::kByEvent;;
             woken = block(deadline, old_cancel_state)) {
            support::SpinLockGuard lock(lock_);
            if (dead_ || shut_down_ || !waitable_) return error(DAT_INVALID_STATE);
            if (reaches(threshold) || (woken == Woken::kByEvent && arm() && reaches(threshold))) {
                failed = take(*event);
                *more = pending();
                break;
            }
            *more = pending();
            if (woken == Woken::kByEvent) continue;
            // Without a queue of its own or with a CNO the reference waits on a condition variable,
            // which notices no signal and answers with the class bit.
            const bool plain = takes(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG) && !cno_;
            if (woken == Woken::kByTimeout)
                return plain ? raw(DAT_TIMEOUT_EXPIRED) : error(DAT_TIMEOUT_EXPIRED);
            if (woken == Woken::kByFailure) return raw(DAT_INTERNAL_ERROR);
            if (queue_ && !cno_) return raw(DAT_INTERRUPTED_CALL);
        }
    }
    if (failed) break_connection(failed);
    return DAT_SUCCESS;
}

Evd::Woken Evd::block(const Deadline& deadline, int old_cancel_state) {
    pollfd descriptors[2] = {{wake_fd_, POLLIN, 0}, {-1, POLLIN, 0}};
    {
        support::SpinLockGuard lock(lock_);
        if (queue_ && !watched_) descriptors[1].fd = channel_->fd;
    }
    const timespec left = deadline.left();
    int ready, error_number;
    {
        const CancellationWindow window(old_cancel_state);
        ready = ppoll(descriptors, 2, deadline.infinite() ? nullptr : &left, nullptr);
        error_number = errno;
    }
    if (ready == 0) return Woken::kByTimeout;
    if (ready < 0) return error_number == EINTR ? Woken::kBySignal : Woken::kByFailure;
    if (descriptors[0].revents) {
        eventfd_t ignored;
        eventfd_read(wake_fd_, &ignored);
    }
    if (descriptors[1].revents) serve();
    return Woken::kByEvent;
}

/// Takes what the device has announced, so that the queue can be armed again. @return whether it
/// had.
bool Evd::read_channel() {
    ibv_cq* announced;
    void* context;
    if (ibv_get_cq_event(channel_.get(), &announced, &context) != 0) return false;
    ibv_ack_cq_events(announced, 1);
    support::SpinLockGuard lock(lock_);
    armed_ = false;
    return true;
}

void Evd::wake() {
    bool asleep;
    {
        support::SpinLockGuard lock(lock_);
        asleep = waiter_;
    }
    if (asleep) eventfd_write(wake_fd_, 1);
}

void Evd::serve() {
    if (!read_channel()) return;
    Cno* cno;
    {
        support::SpinLockGuard lock(lock_);
        arm();
        cno = pinned_cno();
    }
    announce(cno, Agent::kElsewhere);
}

void Evd::set_waitable(bool waitable) {
    {
        support::SpinLockGuard lock(lock_);
        waitable_ = waitable;
    }
    wake();
}

bool Evd::update_watch() {
    if (!queue_) return true;
    read_channel();  // an old announcement must not trigger a new CNO
    bool wanted, present;
    {
        support::SpinLockGuard lock(lock_);
        wanted = cno_ && enabled_ && !shut_down_;
        present = watched_;
        watched_ = wanted;
        if (wanted) arm();
    }
    wake();  // a waiter must look at the channel, or leave it, from now on
    if (wanted == present) return true;
    if (!wanted) {
        ia.service().unwatch(channel_->fd, *this);
        return true;
    }
    if (ia.service().watch(channel_->fd, *this)) return true;
    support::SpinLockGuard lock(lock_);
    watched_ = false;
    return false;
}

DAT_RETURN Evd::modify_cno(Cno* cno) {
    support::MutexLock control(control_);
    Cno* old;
    {
        support::SpinLockGuard lock(lock_);
        old = cno_;
    }
    if (cno == old) return DAT_SUCCESS;
    if (cno) cno->attach();
    {
        support::SpinLockGuard lock(lock_);
        cno_ = cno;
    }
    const bool watched = update_watch();
    if (old) old->detach();
    return watched ? kSuccess : kOutOfMemory;
}

DAT_RETURN Evd::set_enabled(bool enabled) {
    support::MutexLock control(control_);
    {
        support::SpinLockGuard lock(lock_);
        if (enabled_ == enabled) return DAT_SUCCESS;
        enabled_ = enabled;
    }
    return update_watch() ? kSuccess : kOutOfMemory;
}

void Evd::shut_down() {
    {
        support::SpinLockGuard lock(lock_);
        shut_down_ = true;
    }
    modify_cno(nullptr);
    const timespec pause{0, 50000};
    for (bool present = true; present;) {
        wake();
        nanosleep(&pause, nullptr);
        support::SpinLockGuard lock(lock_);
        present = waiter_;
    }
}

DAT_RETURN Evd::resize(DAT_COUNT length) {
    support::MutexLock control(control_);
    std::unique_ptr<ibv_wc[]> replaced;
    {
        support::SpinLockGuard lock(lock_);
        if (waiter_ || length < 0 || length < pending()) return error(DAT_INVALID_STATE);
        if (length == 0) return kOutOfMemory;
        if (length < length_ || length > ia.device_attributes.max_cqe) return bad_argument(2);
        if (!queue_ || length <= queue_->cqe) {
            length_ = length;
            return DAT_SUCCESS;
        }
    }
    const int failed = ibv_resize_cq(queue_.get(), length);
    if (failed) return from_errno(failed);
    auto larger = std::make_unique_for_overwrite<ibv_wc[]>(queue_->cqe);
    support::SpinLockGuard lock(lock_);
    std::copy(held_.get() + held_first_, held_.get() + held_end_, larger.get());
    held_end_ -= held_first_;
    held_first_ = 0;
    held_capacity_ = length_ = queue_->cqe;
    held_.swap(larger);
    return DAT_SUCCESS;
}

}  // namespace dapl
