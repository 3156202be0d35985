// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Changes to an EVD: waitable and enabled state, CNO, size, shutdown.
#include <time.h>

#include <algorithm>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl {

void Evd::set_waitable(bool waitable) {
    {
        support::SpinLockGuard lock(lock_);
        waitable_ = waitable;
    }
    wake();
}

/// Handles pending notifications now: they belong to the settings before the change.
void Evd::settle_announcements() {
    if (channel_) channel_->read_all();
}

bool Evd::update_watch() {
    if (!queue_) return true;
    bool wanted;
    Cno* triggered = nullptr;
    {
        support::SpinLockGuard lock(lock_);
        wanted = cno_ && enabled_ && !shut_down_;
        const DAT_COUNT before = pending();
        if (wanted) arm_for_cno();
        // The device did not notify of these, some of which may have come after the CNO was
        // attached.
        if (wanted && pending() > before) triggered = pinned_cno();
    }
    if (triggered) triggered->trigger(*this, Agent::kElsewhere);
    if (wanted == watched_) return true;
    if (!wanted)
        channel_->remove_watcher();
    else if (!channel_->add_watcher())
        return false;
    watched_ = wanted;
    return true;
}

/// A trigger that nobody has consumed from the old CNO triggers the new one.
void Evd::set_cno(Cno* cno) {
    Cno* before;
    {
        support::SpinLockGuard lock(lock_);
        before = cno_.exchange(nullptr);
        unheard_ = false;
    }
    const bool waits = before && before->withdraw(*this);
    Cno* triggered = nullptr;
    {
        support::SpinLockGuard lock(lock_);
        cno_ = cno;
        if (cno && before && (waits || unheard_) && pending() > 0) triggered = pinned_cno();
    }
    if (triggered) triggered->trigger(*this, Agent::kElsewhere);
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
    const auto has_waiter = [this] {
        support::SpinLockGuard lock(lock_);
        return has(kWaiter);
    };
    for (constexpr timespec kPause{0, 50000}; has_waiter(); nanosleep(&kPause, nullptr)) wake();
}

DAT_RETURN Evd::resize(DAT_COUNT length) {
    support::MutexLock control(control_);
    {
        support::SpinLockGuard lock(lock_);
        if (has(kWaiter) || length < 0) return error(DAT_INVALID_STATE);
        if (length == 0) return kOutOfMemory;
        if (length > ia.device_attributes.max_cqe) return bad_argument(2);
        drain_device();
        if (length < pending()) return error(DAT_INVALID_STATE);
        if (!queue_) length_ = length;
        // The completion queue never shrinks, and dat_evd_query reports its real size, as it does
        // for a new EVD.
        if (length <= length_) return DAT_SUCCESS;
    }
    // It may have grown already, in an earlier call that found no memory to hold as many.
    const int failed = ibv_resize_cq(queue_.get(), std::max(length, queue_->cqe));
    if (is_beyond_device(failed)) return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    if (failed) return refused_by_device(ia, failed, "a larger completion queue").value().code;
    HeldCompletions larger(ia, queue_->cqe);
    support::SpinLockGuard lock(lock_);
    held_.grow(larger);
    length_ = queue_->cqe;
    return DAT_SUCCESS;
}

}  // namespace dapl
