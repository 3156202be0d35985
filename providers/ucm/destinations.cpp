// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/destinations.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dapl/cm/failure.hpp"
#include "dapl/cm/unlocked_step.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {
namespace {

/// Most processes talk to fewer ports. A handle that was dropped is made again when it is needed.
constexpr std::size_t kMostKnown = 8192;
/// Further messages are lost; their senders repeat them.
constexpr std::size_t kMostWaiting = 4096;

}  // namespace

void Destinations::send(const Message& message, const QpAddress& to, std::uint32_t id) {
    const Bytes bytes = encode(message);
    if (const SharedHandle handle = find(key_of(to))) {
        queue_pair_.send(bytes.all(), handle, to.qpn);
        return;
    }
    if (waiting_.size() == kMostWaiting) return;
    waiting_.push_back({bytes, to, id});
    if (waiting_.size() == 1) loop_.arm(*this, Clock::now());
}

SharedHandle Destinations::find(const Key& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return nullptr;
    known_.splice(known_.begin(), known_, place->second);
    return place->second->handle;
}

void Destinations::keep(const Key& key, SharedHandle handle) {
    if (known_.size() == kMostKnown) {
        places_.erase(known_.back().key);
        known_.pop_back();
    }
    known_.push_front({key, std::move(handle)});
    places_[key] = known_.begin();
}

void Destinations::expired() {
    const QpAddress to = waiting_.front().to;
    const std::shared_ptr<void> held = owner_.hold();
    ibv_gid gid;
    std::memcpy(&gid, to.gid.data(), sizeof gid);
    const auto own = port_.own_end({}, &gid);
    SharedHandle handle;
    Refusal refusal{own ? "" : own.error(), false};
    if (own) {
        ibv_ah_attr way = port_.way_to(*own, to);
        ibv_pd* const domain = queue_pair_.domain();
        cm::UnlockedStep making;
        static_cast<void>(making.run([&] {
            ibv_ah* const made = ibv_create_ah(domain, &way);
            if (made)
                handle.reset(made, ibv_destroy_ah);
            else
                refusal = {"the device refuses the address: " + cm::text_of_error(errno),
                           errno == ETIMEDOUT};
        }));
    }
    if (handle) keep(key_of(to), handle);
    deliver(key_of(to), handle, refusal);
    if (!waiting_.empty()) loop_.arm(*this, Clock::now());
}

/// Sends what waits for a port, or tells that it cannot be sent.
void Destinations::deliver(const Key& key, const SharedHandle& handle, const Refusal& refusal) {
    std::deque<Waiting> others, these;
    for (const Waiting& one : waiting_) (key_of(one.to) == key ? these : others).push_back(one);
    waiting_.swap(others);
    for (const Waiting& one : these) {
        if (handle)
            queue_pair_.send(one.message.all(), handle, one.to.qpn);
        else if (one.id != 0)
            owner_.undeliverable(one.id, refusal);
    }
}

}  // namespace dapl::ucm
