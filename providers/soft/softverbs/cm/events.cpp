// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event channels: a queue each, and an eventfd that is readable exactly while the queue is not
/// empty.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "providers/soft/softverbs/cm/engine.hpp"

namespace softverbs {
namespace {

void set_readable(EventChannel& channel) {
    const std::uint64_t one = 1;
    while (write(channel.public_part.fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/// Never blocks, whatever the descriptor's mode: only called under the lock when the counter is not
/// zero.
void set_unreadable(EventChannel& channel) {
    std::uint64_t count;
    while (read(channel.public_part.fd, &count, sizeof count) < 0 && errno == EINTR) continue;
}

/// Removes events of the identifier from its channel's queue.
/// @param is_meant (const Event&): whether to remove this one.
template <class IsMeant>
Events take_events(Identifier& id, const IsMeant& is_meant) {
    Events taken;
    if (id.events_waiting == 0) return taken;
    Events& waiting = id.channel().waiting;
    for (auto event = waiting.begin(); event != waiting.end();) {
        const auto next = std::next(event);
        if ((*event)->counted_on == &id && is_meant(**event)) {
            taken.splice(taken.end(), waiting, event);
            --id.events_waiting;
        }
        event = next;
    }
    if (waiting.empty()) set_unreadable(id.channel());
    return taken;
}

Events take_events(Identifier& id) {
    return take_events(id, [](const Event&) { return true; });
}

}  // namespace

Events Engine::make_event(Identifier& id, rdma_cm_event_type type, int status) {
    Events made;
    made.push_back(std::make_unique<Event>());
    Event& event = *made.front();
    event.public_part.id = id.handle();
    event.public_part.event = type;
    event.public_part.status = status;
    event.counted_on = &id;
    return made;
}

Events Engine::take_first(Events& events) {
    Events first;
    first.splice(first.end(), events, events.begin());
    return first;
}

Event& Engine::append(Identifier& id, Events event) {
    Event& pushed = *event.front();
    EventChannel& channel = id.channel();
    ++id.events_waiting;
    channel.waiting.splice(channel.waiting.end(), event);
    if (channel.waiting.size() == 1) set_readable(channel);
    return pushed;
}

Event& Engine::push(Identifier& id, rdma_cm_event_type type, int status) {
    return append(id, make_event(id, type, status));
}

Events Engine::pop(EventChannel& channel) {
    if (channel.waiting.empty()) return {};
    Events popped = take_first(channel.waiting);
    if (channel.waiting.empty()) set_unreadable(channel);
    Event& event = *popped.front();
    --event.counted_on->events_waiting;
    ++event.counted_on->events_fetched;
    if (event.membership) ++event.membership->events_fetched;
    if (event.public_part.event == RDMA_CM_EVENT_CONNECT_REQUEST)
        --event.counted_on->requests_waiting;
    return popped;
}

void Engine::push_back(EventChannel& channel, Events popped) {
    Event& event = *popped.front();
    ++event.counted_on->events_waiting;
    acknowledge(event);
    if (event.public_part.event == RDMA_CM_EVENT_CONNECT_REQUEST)
        ++event.counted_on->requests_waiting;
    if (channel.waiting.empty()) set_readable(channel);
    channel.waiting.splice(channel.waiting.begin(), popped);
}

void Engine::acknowledge(const Event& event) {
    bool is_last = --event.counted_on->events_fetched == 0;
    if (event.membership && --event.membership->events_fetched == 0) is_last = true;
    if (is_last) acknowledged_.notify_all();
}

void Engine::drop_events(Identifier& id) {
    for (auto& event : take_events(id)) {
        if (event->public_part.event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
        Identifier& child = Identifier::of(event->public_part.id);
        if (child.is_datagram())
            refuse_resolution(child);
        else
            send_reject(child, kRejectConsumer);
        forget_unseen(child);
    }
    id.requests_waiting = 0;
}

void Engine::drop_events(Identifier& id, const Membership& membership) {
    take_events(id, [&](const Event& event) { return event.membership == &membership; });
    while (membership.events_fetched > 0) acknowledged_.wait(mutex);
}

void Engine::move_events(Identifier& id, EventChannel& to) {
    while (id.events_fetched > 0) acknowledged_.wait(mutex);
    Events events = take_events(id);
    id.public_part.channel = &to.public_part;
    while (!events.empty()) {
        Events event = take_first(events);
        // Children use their listener's channel.
        rdma_cm_event& moved = event.front()->public_part;
        if (moved.event == RDMA_CM_EVENT_CONNECT_REQUEST) moved.id->channel = &to.public_part;
        append(id, std::move(event));
    }
}

namespace {

/// Handles the reply: brings the queue pair up, if the identifier has one, and sends ready-to-use.
/// Runs on the application's thread, as with the kernel's rdma_cm, because the device may be slow.
void establish(Engine& engine, Identifier& id, rdma_cm_event& event) {
    if (!id.public_part.qp) {
        event.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
        return;
    }
    const int error = move_to_ready(id);
    support::MutexLock lock(engine.mutex);
    if (error == 0) {
        event.event = RDMA_CM_EVENT_ESTABLISHED;
        if (id.state != State::kReplied) return;  // already over; that event follows
        id.state = State::kConnected;
        engine.send_step(id, MessageType::kReadyToUse);
        return;
    }
    if (id.state == State::kReplied) engine.send_reject(id, kRejectConsumer);
    id.state = State::kFailed;
    engine.drop_events(id);
    event.event = RDMA_CM_EVENT_CONNECT_ERROR;
    event.status = -error;
}

/// Does what librdmacm does when it hands out an event.
void process(Engine& engine, Identifier& id, Event& handed_out) {
    rdma_cm_event& event = handed_out.public_part;
    if (event.event == RDMA_CM_EVENT_CONNECT_RESPONSE) establish(engine, id, event);
    if (event.event == RDMA_CM_EVENT_MULTICAST_JOIN) attach_to_group(id, handed_out);
    if (id.is_datagram()) return;
    if (event.event == RDMA_CM_EVENT_REJECTED || event.event == RDMA_CM_EVENT_CONNECT_ERROR ||
        event.event == RDMA_CM_EVENT_UNREACHABLE)
        move_to_error(id);
}

}  // namespace

namespace {

/// @return false when memory is short: the event goes back to the queue.
bool hand_out(Engine& engine, EventChannel& channel, Events& event) {
    try {
        process(engine, *event.front()->counted_on, *event.front());
        return true;
    } catch (const std::bad_alloc&) {
        support::MutexLock lock(engine.mutex);
        engine.push_back(channel, std::move(event));
        return false;
    }
}

}  // namespace

int get_event(EventChannel& channel, rdma_cm_event** result) {
    Engine& engine = *channel.engine;
    for (;;) {
        {
            CancellationDisabled no_cancellation;
            Events event;
            {
                support::MutexLock lock(engine.mutex);
                event = engine.pop(channel);
            }
            if (!event.empty()) {
                if (!hand_out(engine, channel, event)) return ENOMEM;
                *result = &event.front().release()->public_part;
                return 0;
            }
        }
        const int fd = channel.public_part.fd;
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0) return errno;
        if (flags & O_NONBLOCK) return EAGAIN;
        pollfd readable = {fd, POLLIN, 0};
        if (poll(&readable, 1, -1) < 0) return errno;
        // Programs destroy a channel while a thread of theirs returns to it: the channel must not
        // be touched again.
        if (readable.revents & POLLNVAL) return EBADF;
    }
}

}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::Engine;
using softverbs::Event;
using softverbs::EventChannel;
using softverbs::guarded;

extern "C" {

rdma_event_channel* rdma_create_event_channel(void) {
    rdma_event_channel* result = nullptr;
    guarded([&] {
        CancellationDisabled no_cancellation;
        auto channel = std::make_unique<EventChannel>();
        const auto engine = Engine::acquire();
        if (!engine) return engine.error();
        softverbs::EngineReference reference(*engine);
        channel->engine = *engine;
        channel->public_part.fd = eventfd(0, EFD_CLOEXEC);
        if (channel->public_part.fd < 0) return errno;
        reference.keep();
        result = &channel.release()->public_part;
        return 0;
    });
    return result;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
    CancellationDisabled no_cancellation;
    std::unique_ptr<EventChannel> owned(reinterpret_cast<EventChannel*>(channel));
    close(owned->public_part.fd);
    Engine::release();
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
    if (!channel || !event) {
        errno = EINVAL;
        return -1;
    }
    return guarded(
        [&] { return softverbs::get_event(*reinterpret_cast<EventChannel*>(channel), event); });
}

int rdma_ack_cm_event(rdma_cm_event* event) {
    if (!event) {
        errno = EINVAL;
        return -1;
    }
    std::unique_ptr<Event> owned(reinterpret_cast<Event*>(event));
    Engine& engine = *owned->counted_on->engine;
    support::MutexLock lock(engine.mutex);
    engine.acknowledge(*owned);
    return 0;
}

const char* rdma_event_str(rdma_cm_event_type event) {
    switch (event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            return "RDMA_CM_EVENT_ADDR_RESOLVED";
        case RDMA_CM_EVENT_ADDR_ERROR:
            return "RDMA_CM_EVENT_ADDR_ERROR";
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            return "RDMA_CM_EVENT_ROUTE_RESOLVED";
        case RDMA_CM_EVENT_ROUTE_ERROR:
            return "RDMA_CM_EVENT_ROUTE_ERROR";
        case RDMA_CM_EVENT_CONNECT_REQUEST:
            return "RDMA_CM_EVENT_CONNECT_REQUEST";
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
            return "RDMA_CM_EVENT_CONNECT_RESPONSE";
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return "RDMA_CM_EVENT_CONNECT_ERROR";
        case RDMA_CM_EVENT_UNREACHABLE:
            return "RDMA_CM_EVENT_UNREACHABLE";
        case RDMA_CM_EVENT_REJECTED:
            return "RDMA_CM_EVENT_REJECTED";
        case RDMA_CM_EVENT_ESTABLISHED:
            return "RDMA_CM_EVENT_ESTABLISHED";
        case RDMA_CM_EVENT_DISCONNECTED:
            return "RDMA_CM_EVENT_DISCONNECTED";
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return "RDMA_CM_EVENT_DEVICE_REMOVAL";
        case RDMA_CM_EVENT_MULTICAST_JOIN:
            return "RDMA_CM_EVENT_MULTICAST_JOIN";
        case RDMA_CM_EVENT_MULTICAST_ERROR:
            return "RDMA_CM_EVENT_MULTICAST_ERROR";
        case RDMA_CM_EVENT_ADDR_CHANGE:
            return "RDMA_CM_EVENT_ADDR_CHANGE";
        case RDMA_CM_EVENT_TIMEWAIT_EXIT:
            return "RDMA_CM_EVENT_TIMEWAIT_EXIT";
    }
    return "UNKNOWN EVENT";
}

}  // extern "C"
