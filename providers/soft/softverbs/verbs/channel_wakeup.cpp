// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/channel_wakeup.hpp"

#include <chrono>
#include <map>

#include "providers/soft/softverbs/verbs/adapter.hpp"

namespace softverbs {
namespace {

/// Long for a service thread, short for a user.
constexpr std::chrono::seconds kPatience{5};

}  // namespace

std::shared_ptr<UniqueFd> channel_of(Adapter& adapter, Peer& peer, std::uint32_t cq,
                                     std::uint32_t channel) {
    if (channel == 0) return nullptr;
    const std::pair key{peer.member().id, channel};
    {
        support::MutexLock lock(adapter.mutex);
        const auto found = adapter.peer_channels.find(key);
        if (found != adapter.peer_channels.end()) return found->second;
    }
    Result<Reply> reply = peer.request(
        MessageType::kWakeChannel, bytes_of(ChannelRequest{cq, channel}), Clock::now() + kPatience);
    if (!reply || reply->fds.size() != 1 || !is_event_counter(reply->fds[0].get())) return nullptr;
    auto fd = std::make_shared<UniqueFd>(std::move(reply->fds[0]));
    support::MutexLock lock(adapter.mutex);
    return adapter.peer_channels.emplace(key, std::move(fd)).first->second;
}

void forget_channels_of(Adapter& adapter, const Peer& peer) {
    support::MutexLock lock(adapter.mutex);
    auto& channels = adapter.peer_channels;
    for (auto at = channels.begin(); at != channels.end();) {
        at = at->first.first == peer.member().id ? channels.erase(at) : std::next(at);
    }
}

}  // namespace softverbs
