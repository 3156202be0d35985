// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/shared_channel.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

#include "dapl/evd.hpp"
#include "dapl/process_state.hpp"

namespace dapl {

std::shared_ptr<SharedChannel> SharedChannel::make(ibv_context* device, ServiceThread& service) {
    verbs::CompletionChannel native(ibv_create_comp_channel(device));
    if (!native) return nullptr;
    const int descriptor = native->fd;
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    return std::make_shared<SharedChannel>(std::move(native), service);
}

SharedChannel::SharedChannel(verbs::CompletionChannel native, ServiceThread& service)
    : native_(std::move(native)), service_(service) {
    ++process_state().channels;
}

SharedChannel::~SharedChannel() {
    --process_state().channels;
}

void SharedChannel::join(Sleeper& sleeper) {
    support::SpinLockGuard lock(lock_);
    sleepers_.add(sleeper);
}

void SharedChannel::leave(Sleeper& sleeper) {
    int heir = -1;
    {
        support::SpinLockGuard lock(lock_);
        sleepers_.remove(sleeper);
        if (reader_ == &sleeper) reader_ = nullptr;
        if (!reader_ && !watched_ && sleepers_.first()) heir = sleepers_.first()->wake_descriptor;
    }
    if (heir >= 0) eventfd_write(heir, 1);
}

int SharedChannel::descriptor_for(Sleeper& sleeper) {
    support::SpinLockGuard lock(lock_);
    if (watched_) return -1;
    if (!reader_) reader_ = &sleeper;
    return reader_ == &sleeper ? native_->fd : -1;
}

bool SharedChannel::read(const Evd* reader) {
    ibv_cq* queue;
    void* context;
    if (ibv_get_cq_event(native_.get(), &queue, &context) != 0) return false;
    // Until the acknowledgement the queue, and so its EVD, does not go away.
    auto& evd = *static_cast<Evd*>(context);
    evd.announced(reader);
    ibv_ack_cq_events(queue, 1);
    return true;
}

void SharedChannel::read_all() {
    while (read(nullptr)) {
    }
}

bool SharedChannel::add_watcher() {
    support::MutexLock watch(watch_);
    if (watchers_ == 0) {
        if (!service_.watch(native_->fd, *this)) return false;
        set_watched(true);
    }
    ++watchers_;
    return true;
}

void SharedChannel::remove_watcher() {
    support::MutexLock watch(watch_);
    if (--watchers_ > 0) return;
    service_.unwatch(native_->fd, *this);
    set_watched(false);
}

/// Wakes the one sleeper who has to leave the descriptor, or to take it up, from now on.
void SharedChannel::set_watched(bool watched) {
    int woken = -1;
    {
        support::SpinLockGuard lock(lock_);
        watched_ = watched;
        if (Sleeper* sleeper = watched ? reader_ : sleepers_.first())
            woken = sleeper->wake_descriptor;
        if (watched) reader_ = nullptr;
    }
    if (woken >= 0) eventfd_write(woken, 1);
}

}  // namespace dapl
