// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/channel_wakeup.hpp"

#include <chrono>
#include <map>

#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {
namespace {

/// Limits the wait for a peer's service thread: long for that thread, short for a user.
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
    if (!reply || reply->fds.size() != 1 || !is_bell_socket(reply->fds[0].get())) return nullptr;
    auto made = support::made_node<Adapter::PeerChannels>(
        key, std::make_shared<UniqueFd>(std::move(reply->fds[0])));
    // Before the lock: a node that was not inserted is freed without it.
    Adapter::PeerChannels::insert_return_type entered;
    support::MutexLock lock(adapter.mutex);
    entered = adapter.peer_channels.insert(std::move(made));
    return entered.position->second;
}

void forget_channels_of(Adapter& adapter, const Peer& peer) {
    const MemberId member = peer.member().id;
    Adapter::PeerChannels gone;
    support::MutexLock lock(adapter.mutex);
    gone = support::taken_out(adapter.peer_channels,
                              [member](const auto& one) { return one.first.first == member; });
}

}  // namespace softverbs
