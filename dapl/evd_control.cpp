// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What changes an EVD: waitable or not, its CNO, its size, its end.
#include <time.h>

#include <algorithm>

#include "dapl/evd.hpp"
#include "dapl/ia.hpp"
#include "dapl/refusal.hpp"

namespace dapl {

void Evd::set_waitable(bool waitable) {
    {
        support::SpinLockGuard lock(lock_);
        waitable_ = waitable;
    }
    wake();
}

/// What was announced before belongs to the settings before.
void Evd::settle_announcements() {
    if (channel_) channel_->read_all();
}

bool Evd::update_watch() {
    if (!queue_) return true;
    bool wanted;
    {
        support::SpinLockGuard lock(lock_);
        wanted = cno_ && enabled_ && !shut_down_;
        if (wanted) arm();
    }
    if (wanted == watched_) return true;
    if (!wanted)
        channel_->remove_watcher();
    else if (!channel_->add_watcher())
        return false;
    watched_ = wanted;
    return true;
}

void Evd::set_cno(Cno* cno) {
    support::SpinLockGuard lock(lock_);
    cno_ = cno;
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
    settle_announcements();
    set_cno(cno);
    if (!update_watch()) {
        set_cno(old);
        cno->detach();
        return kOutOfMemory;
    }
    if (old) old->detach();
    return DAT_SUCCESS;
}

DAT_RETURN Evd::set_enabled(bool enabled) {
    support::MutexLock control(control_);
    settle_announcements();
    {
        support::SpinLockGuard lock(lock_);
        if (enabled_ == enabled) return DAT_SUCCESS;
        enabled_ = enabled;
    }
    if (update_watch()) return DAT_SUCCESS;
    support::SpinLockGuard lock(lock_);
    enabled_ = !enabled;
    return kOutOfMemory;
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
        present = has(kWaiter);
    }
}

DAT_RETURN Evd::resize(DAT_COUNT length) {
    support::MutexLock control(control_);
    std::unique_ptr<ibv_wc[]> replaced;
    {
        support::SpinLockGuard lock(lock_);
        if (has(kWaiter) || length < 0 || length < pending()) return error(DAT_INVALID_STATE);
        if (length == 0) return kOutOfMemory;
        if (length < length_ || length > ia.device_attributes.max_cqe) return bad_argument(2);
        if (!queue_ || length <= queue_->cqe) {
            length_ = length;
            return DAT_SUCCESS;
        }
    }
    const int failed = ibv_resize_cq(queue_.get(), length);
    if (is_beyond_device(failed)) return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
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
