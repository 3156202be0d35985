// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Use and end of the links of peers. Service thread only.
#include <sys/epoll.h>

#include <cerrno>

#include "providers/soft/softverbs/fabric/handshake.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

/// Records received from one link before the others get their turn.
constexpr int kRecordsPerTurn = 16;
/// A killed process releases its lock in the index a moment after its links.
constexpr auto kBurialDelay = std::chrono::milliseconds(50);

}  // namespace

Result<void> Process::watch_link(const std::shared_ptr<Peer>& peer, UniqueFd link) {
    const int fd = link.get();
    {
        support::MutexLock lock(peer->mutex_);
        peer->links_.reserve(peer->links_.size() + 1);
        peer->links_.push_back(std::move(link));
    }
    return service_.watch(fd, EPOLLIN,
                          [this, peer, fd](std::uint32_t events) { link_ready(peer, fd, events); });
}

void Process::link_ready(const std::shared_ptr<Peer>& peer, int link, std::uint32_t events) {
    if (events & EPOLLOUT) peer->flush();
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    for (int turn = 0; turn < kRecordsPerTurn && peer->alive(); ++turn) {
        auto record = receive_record(link, receive_buffer_);
        if (record) {
            const auto handle = [&] { dispatch(peer, record->message, record->is_reply); };
            if (Service::persist(handle)) continue;
            support::report<support::kServiceOutOfMemory>();
            return peer_died(peer);
        }
        if (record.error() == EAGAIN) return;
        if (record.error() == EPROTO) return reject_garbage(peer, "a malformed record");
        return peer_died(peer);
    }
}

void Process::dispatch(const std::shared_ptr<Peer>& peer, Message& message, bool is_reply) {
    if (is_reply) return peer->complete_request(message);
    std::shared_ptr<MessageHandler> handler;
    {
        support::MutexLock lock(mutex_);
        handler = handlers_[static_cast<std::size_t>(message.type)];
    }
    if (message.type == MessageType::kHello) return reject_garbage(peer, "a second greeting");
    // No handler is installed until the part that would answer is first used; the message is then
    // ignored.
    if (handler) (*handler)(peer, message);
}

void Process::reject_garbage(const std::shared_ptr<Peer>& peer, const char* what) {
    if (peer->is_self() || !peer->alive()) return;
    support::report<support::kPeerGarbage>(peer->pid(), what);
    peer_died(peer);
}

void Process::peer_died(const std::shared_ptr<Peer>& peer) {
    if (!peer->mark_dead()) return;
    std::shared_ptr<const std::vector<DeathHandler>> handlers;
    {
        support::MutexLock lock(mutex_);
        peers_.erase(peer->member().id);
        std::erase_if(owners_, [&](const auto& entry) { return entry.second == peer; });
        handlers = death_handlers_;
    }
    close_peer(*peer);
    for (std::size_t i = 0; handlers && i < handlers->size(); ++i)
        if (!Service::persist([&] { (*handlers)[i](peer); }))
            support::report<support::kServiceOutOfMemory>();
    // If there is no memory for it, a later join() or bury() cleans up.
    Service::persist([&] {
        service_.at(Clock::now() + kBurialDelay,
                    [this, member = peer->member()] { index_->bury(member); });
    });
}

void Process::close_peer(Peer& peer) {
    std::vector<UniqueFd> links;
    {
        support::MutexLock lock(peer.mutex_);
        links.swap(peer.links_);
    }
    for (const UniqueFd& link : links) service_.unwatch(link.get());
    // The descriptor stays open: Peer::gone() may be polling it.
    if (peer.pidfd_.valid()) service_.unwatch(peer.pidfd_.get());
}

}  // namespace softverbs
