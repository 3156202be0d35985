// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event channels: a queue each, and an eventfd that is readable exactly while the queue is not
/// empty.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "providers/soft/cm/engine.hpp"

namespace softverbs {
namespace {

void set_readable(EventChannel& channel) {
    const std::uint64_t one = 1;
    while (write(channel.public_part.fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/// Never blocks, whatever the descriptor's mode: only called when the counter is not zero, under
/// the lock.
void set_unreadable(EventChannel& channel) {
    std::uint64_t count;
    while (read(channel.public_part.fd, &count, sizeof count) < 0 && errno == EINTR) continue;
}

void append(EventChannel& channel, std::unique_ptr<Event> event) {
    channel.waiting.push_back(std::move(event));
    if (channel.waiting.size() == 1) set_readable(channel);
}

/// Takes the identifier's events out of its channel's queue.
std::vector<std::unique_ptr<Event>> take_events(Identifier& id) {
    std::vector<std::unique_ptr<Event>> taken;
    if (id.events_waiting == 0) return taken;
    auto& waiting = id.channel().waiting;
    for (auto& event : waiting)
        if (event->counted_on == &id) taken.push_back(std::move(event));
    waiting.erase(std::remove(waiting.begin(), waiting.end(), nullptr), waiting.end());
    if (waiting.empty()) set_unreadable(id.channel());
    id.events_waiting = 0;
    return taken;
}

}  // namespace

Event& Engine::push(Identifier& id, rdma_cm_event_type type, int status) {
    auto event = std::make_unique<Event>();
    event->public_part.id = id.handle();
    event->public_part.event = type;
    event->public_part.status = status;
    event->counted_on = &id;
    ++id.events_waiting;
    Event& pushed = *event;
    append(id.channel(), std::move(event));
    return pushed;
}

std::unique_ptr<Event> Engine::pop(EventChannel& channel) {
    if (channel.waiting.empty()) return nullptr;
    auto event = std::move(channel.waiting.front());
    channel.waiting.pop_front();
    if (channel.waiting.empty()) set_unreadable(channel);
    --event->counted_on->events_waiting;
    ++event->counted_on->events_fetched;
    if (event->public_part.event == RDMA_CM_EVENT_CONNECT_REQUEST)
        --event->counted_on->requests_waiting;
    return event;
}

void Engine::acknowledge(Identifier& id) {
    if (--id.events_fetched == 0) acknowledged_.notify_all();
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

void Engine::move_events(Identifier& id, EventChannel& to) {
    while (id.events_fetched > 0) acknowledged_.wait(mutex);
    auto events = take_events(id);
    id.public_part.channel = &to.public_part;
    for (auto& event : events) {
        // Children live on their listener's channel.
        if (event->public_part.event == RDMA_CM_EVENT_CONNECT_REQUEST)
            event->public_part.id->channel = &to.public_part;
        ++id.events_waiting;
        append(to, std::move(event));
    }
}

namespace {

/// The reply has come: brings the queue pair up, where it is ours to do, and tells the other side.
/// This is the application's thread, as with the kernel's rdma_cm: the device may be slow.
void establish(Engine& engine, Identifier& id, rdma_cm_event& event) {
    if (!id.public_part.qp) {
        event.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
        return;
    }
    const int error = move_to_ready(id);
    support::MutexLock lock(engine.mutex);
    if (error == 0) {
        event.event = RDMA_CM_EVENT_ESTABLISHED;
        if (id.state != State::kReplied) return;  // over already; that event follows
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

/// What the real library does when it hands an event out.
void process(Engine& engine, Identifier& id, rdma_cm_event& event) {
    if (event.event == RDMA_CM_EVENT_CONNECT_RESPONSE) establish(engine, id, event);
    if (id.is_datagram()) return;
    if (event.event == RDMA_CM_EVENT_REJECTED || event.event == RDMA_CM_EVENT_CONNECT_ERROR ||
        event.event == RDMA_CM_EVENT_UNREACHABLE)
        move_to_error(id);
}

}  // namespace

int get_event(EventChannel& channel, rdma_cm_event** result) {
    Engine& engine = *channel.engine;
    for (;;) {
        {
            CancellationDisabled no_cancellation;
            std::unique_ptr<Event> event;
            {
                support::MutexLock lock(engine.mutex);
                event = engine.pop(channel);
            }
            if (event) {
                process(engine, *event->counted_on, event->public_part);
                *result = &event.release()->public_part;
                return 0;
            }
        }
        const int fd = channel.public_part.fd;
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0) return errno;
        if (flags & O_NONBLOCK) return EAGAIN;
        pollfd readable = {fd, POLLIN, 0};
        if (poll(&readable, 1, -1) < 0) return errno;
        // Programs destroy a channel while a thread of theirs comes back to it: no second look
        // then.
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
        channel->engine = *engine;
        channel->public_part.fd = eventfd(0, EFD_CLOEXEC);
        if (channel->public_part.fd < 0) {
            const int error = errno;
            Engine::release();
            return error;
        }
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
    engine.acknowledge(*owned->counted_on);
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
