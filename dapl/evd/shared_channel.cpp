// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/shared_channel.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/process_state.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl {
namespace {

/// Beyond this number of channels in a process, new EVDs share one with others of their adapter
/// instance: there may be thousands of EVDs, and descriptors are few. A channel of soft0 takes two.
constexpr int kOwnChannels = 32;

}  // namespace

/// Allocates and frees nothing with the mutex held: registering memory takes that mutex, and the
/// consumer's malloc() may register memory.
std::shared_ptr<SharedChannel> channel_for(Ia& ia) {
    std::shared_ptr<SharedChannel> made;
    for (int refused = 0;;) {
        std::vector<std::weak_ptr<SharedChannel>> others;  // the swap leaves the expired ones in it
        others.reserve(2 * kOwnChannels);
        {
            support::MutexLock lock(ia.mutex);
            for (auto& channel : ia.channels)
                if (!channel.expired()) others.push_back(std::move(channel));
            ia.channels.swap(others);
            if (made) {
                if (ia.channels.size() < ia.channels.capacity()) ia.channels.push_back(made);
                return made;
            }
            const bool may_make = !refused && process_state().channels < kOwnChannels;
            if (!ia.channels.empty() && !may_make) {
                const auto least = std::min_element(
                    ia.channels.begin(), ia.channels.end(),
                    [](const auto& a, const auto& b) { return a.use_count() < b.use_count(); });
                if (auto shared = least->lock()) return shared;
                continue;
            }
        }
        errno = refused;
        if (refused) return nullptr;
        made = SharedChannel::make(ia.context(), ia.service());
        refused = made ? 0 : errno;
    }
}

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
    // Until the acknowledgement the completion queue, and so its EVD, cannot be destroyed.
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

/// Wakes the one sleeper that has to stop polling the descriptor, or to start, from now on.
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
