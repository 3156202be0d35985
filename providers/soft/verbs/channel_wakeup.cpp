// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/channel_wakeup.hpp"

#include <chrono>
#include <map>

#include "providers/soft/verbs/completion_queue.hpp"

namespace softverbs {
namespace {

struct ChannelRequest {
    std::uint32_t cq;
    std::uint32_t channel;
};

/// Long for a service thread, short for a user.
constexpr std::chrono::seconds kPatience{5};

}  // namespace

void serve_channel_requests(Adapter& adapter) {
    adapter.process().handle(
        MessageType::kWakeChannel, [&adapter](const std::shared_ptr<Peer>& peer, Message& message) {
            const auto* request = message.as<ChannelRequest>();
            if (!request) return adapter.process().reject_garbage(peer, "channel request");
            support::MutexLock lock(adapter.mutex);
            const auto found = adapter.completion_queues().find(request->cq);
            if (found == adapter.completion_queues().end()) return void(peer->reply(message, {}));
            const CompletionChannel* channel = found->second->completion_channel();
            if (!channel || channel->id != request->channel) return void(peer->reply(message, {}));
            const int fds[] = {channel->fd};
            // Also a failure to pass the descriptor is an answer: none.
            if (!peer->reply(message, {}, fds)) (void)peer->reply(message, {});
        });
}

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
