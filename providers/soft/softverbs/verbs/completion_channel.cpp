// SPDX-License-Identifier: BSD-2-Clause
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/channel_wakeup.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"

namespace softverbs {

void CompletionChannel::add(CompletionQueue* cq) {
    support::MutexLock lock(mutex_);
    queues_.push_back(cq);
    ++refcnt;
}

void CompletionChannel::remove(CompletionQueue* cq) {
    support::MutexLock lock(mutex_);
    queues_.erase(std::remove(queues_.begin(), queues_.end(), cq), queues_.end());
    --refcnt;
}

void CompletionChannel::wake(std::uint64_t events) {
    raise_event(fd, events);
}

CompletionQueue* CompletionChannel::take_event() {
    support::MutexLock lock(mutex_);
    for (std::size_t i = 0; i < queues_.size(); ++i) {
        turn_ = (turn_ + 1) % queues_.size();
        if (queues_[turn_]->take_event()) return queues_[turn_];
    }
    return nullptr;
}

/// read() is a cancellation point, with nothing held; a count that nobody stands behind is skipped.
CompletionQueue* CompletionChannel::next_event() {
    for (;;) {
        eventfd_t one;
        if (read(fd, &one, sizeof one) != sizeof one) return nullptr;
        if (CompletionQueue* cq = take_event()) return cq;
    }
}

void serve_channel_requests(Adapter& adapter) {
    adapter.process().handle(
        MessageType::kWakeChannel, [&adapter](const std::shared_ptr<Peer>& peer, Message& message) {
            const auto* request = message.as<ChannelRequest>();
            if (!request) return adapter.process().reject_garbage(peer, "channel request");
            support::MutexLock lock(adapter.mutex);
            const CompletionQueue* cq = adapter.find_cq(request->cq);
            if (!cq) return void(peer->reply(message, {}));
            const CompletionChannel* channel = cq->completion_channel();
            if (!channel || channel->id != request->channel) return void(peer->reply(message, {}));
            const int fds[] = {channel->fd};
            // Also a failure to pass the descriptor is an answer: none.
            if (!peer->reply(message, {}, fds)) (void)peer->reply(message, {});
        });
}

}  // namespace softverbs

extern "C" {

using softverbs::CompletionChannel;

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    auto* channel = new (std::nothrow) CompletionChannel;
    if (!channel) {
        errno = ENOMEM;
        return nullptr;
    }
    channel->context = context;
    channel->refcnt = 0;
    channel->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (channel->fd < 0) {
        delete channel;
        return nullptr;
    }
    channel->id = softverbs::Context::of(context).adapter->next_channel();
    return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    const softverbs::CancellationDisabled guard;
    if (channel->refcnt != 0) return softverbs::also_errno(EBUSY);
    close(channel->fd);
    delete &CompletionChannel::of(channel);
    return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
    softverbs::CompletionQueue* found = CompletionChannel::of(channel).next_event();
    if (!found) return -1;
    *cq = found;
    *cq_context = found->cq_context;
    return 0;
}

}  // extern "C"
