// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/socket.h>

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
    unmatched_tokens_ += cq->waiting_events();
    queues_.erase(std::remove(queues_.begin(), queues_.end(), cq), queues_.end());
    --refcnt;
}

CompletionChannel::CompletionChannel(Context& of, Bell bell)
    : ibv_comp_channel{of.handle(), bell.fd(), 0},
      id(of.adapter->next_channel()),
      bell_(std::move(bell)) {}

CompletionChannel::~CompletionChannel() {
    Context::of(context).adapter->process().forget(bell_);
}

Result<UniqueFd> CompletionChannel::lend(Process& process) {
    return process.lend(bell_, name());
}

CompletionQueue* CompletionChannel::take_event() {
    support::MutexLock lock(mutex_);
    for (std::size_t i = 0; i < queues_.size(); ++i) {
        turn_ = (turn_ + 1) % queues_.size();
        if (queues_[turn_]->take_event()) return queues_[turn_];
    }
    return nullptr;
}

bool CompletionChannel::is_blocking() const {
    const int flags = fcntl(fd, F_GETFL);
    return flags < 0 || (flags & O_NONBLOCK) == 0;
}

CompletionQueue* CompletionChannel::match_token() {
    support::MutexLock lock(mutex_);
    if (unmatched_tokens_ == 0) return nullptr;
    --unmatched_tokens_;
    if (queues_.empty() || is_blocking()) return nullptr;
    turn_ = (turn_ + 1) % queues_.size();
    queues_[turn_]->give_event_early();
    return queues_[turn_];
}

/// Blocks unless the program has made the descriptor O_NONBLOCK; peers cannot change its flags.
/// recv() is a cancellation point, with no lock held. A token may have no event: its queue has been
/// destroyed, stay_readable() has put one beside that of a producer which was just about to send
/// its own, or a peer sends too many. Who blocks skips it. Who does not has seen that the
/// descriptor is readable, and may rely on an event, as gloo does. It gets one, if we know where
/// the token comes from, and finds no completion behind it: that it has to expect anyway, since it
/// may have polled the completions of an event before.
CompletionQueue* CompletionChannel::next_event() {
    for (char token;;) {
        if (recv(fd, &token, sizeof token, 0) < 0) return nullptr;
        CompletionQueue* cq = take_event();
        if (!cq) cq = match_token();
        if (!cq) continue;
        stay_readable();
        return cq;
    }
}

void CompletionChannel::stay_readable() {
    support::MutexLock lock(mutex_);
    const auto has_event = [](const CompletionQueue* cq) { return cq->waiting_events() != 0; };
    char token;
    if (std::none_of(queues_.begin(), queues_.end(), has_event) ||
        recv(fd, &token, sizeof token, MSG_PEEK | MSG_DONTWAIT) >= 0)
        return;
    ++unmatched_tokens_;
    wake();
}

void serve_channel_requests(Adapter& adapter) {
    adapter.process().handle(
        MessageType::kWakeChannel, [&adapter](const std::shared_ptr<Peer>& peer, Message& message) {
            const auto* request = message.as<ChannelRequest>();
            if (!request)
                return adapter.process().reject_garbage(peer, "a malformed channel request");
            support::MutexLock lock(adapter.mutex);
            // A failure to lend or to pass the descriptor is answered too, without a descriptor.
            const CompletionQueue* cq = adapter.find_cq(request->cq);
            CompletionChannel* channel = cq ? cq->completion_channel() : nullptr;
            if (!channel || channel->id != request->channel) return void(peer->reply(message, {}));
            const auto socket = channel->lend(adapter.process());
            const int fds[] = {socket ? socket->get() : -1};
            if (!socket || !peer->reply(message, {}, fds)) (void)peer->reply(message, {});
        });
}

}  // namespace softverbs

extern "C" {

using softverbs::CompletionChannel;

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    if (softverbs::is_refused(context, softverbs::faults::Subject::kCreateCompChannel))
        return nullptr;
    const softverbs::CancellationDisabled guard;
    auto bell = softverbs::Bell::make();
    if (!bell) {
        errno = bell.error();
        return nullptr;
    }
    auto* channel =
        new (std::nothrow) CompletionChannel(softverbs::Context::of(context), std::move(*bell));
    if (!channel) errno = ENOMEM;
    return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    const softverbs::CancellationDisabled guard;
    if (channel->refcnt != 0) return softverbs::also_errno(EBUSY);
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
