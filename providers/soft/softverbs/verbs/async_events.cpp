// SPDX-License-Identifier: BSD-2-Clause
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/faults/time_scale.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/event_object.hpp"

namespace softverbs {
namespace {

/// Returns a predicate that tells whether an event is for the object. Every event holds its
/// object's address in the same place, whatever the object's type.
auto names(const void* object) {
    return [object](const ibv_async_event& event) { return event.element.qp == object; };
}

}  // namespace

int AsyncEvents::open(Context& owner) {
    owner_ = &owner;
    fd_ = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    return fd_;
}

AsyncEvents::~AsyncEvents() {
    if (fd_ >= 0) close(fd_);
}

void AsyncEvents::push(const ibv_async_event& event) {
    Queue one{event};
    push_first(one);
}

void AsyncEvents::push_first(Queue& made) {
    faults::Faults& faults = owner_->adapter->process().faults();
    const auto rule = faults.of(faults::Subject::kAsyncEvent, {.event = made.front().event_type});
    if (rule) return obey(*rule, made);
    append(made);
}

void AsyncEvents::append(Queue& made) {
    support::MutexLock lock(mutex_);
    queue_.splice(queue_.end(), made, made.begin());
    raise_event(fd_);
}

/// Loses the event, or adds it twice or later, as a fault rule asks. Without memory for that it is
/// added as it is.
void AsyncEvents::obey(const faults::Rule& rule, Queue& made) {
    if (rule.action == faults::Action::kDrop) return made.pop_front();
    try {
        if (rule.action == faults::Action::kDelay) return hold(made, rule.duration);
        Queue again{made.front()};
        append(again);
    } catch (const std::bad_alloc&) {
        return append(made);
    }
    append(made);
}

void AsyncEvents::hold(Queue& made, faults::Duration duration) {
    static std::atomic<std::uint64_t> tickets{0};
    const std::uint64_t ticket = ++tickets;
    Adapter* const adapter = owner_->adapter.get();
    std::list<Held> one;
    one.push_back({ticket, {}});
    one.front().event.splice(one.front().event.end(), made, made.begin());
    {
        support::MutexLock lock(mutex_);
        held_.splice(held_.end(), one);
    }
    try {
        adapter->process().service().at(Clock::now() + scaled(duration), [adapter, ticket] {
            adapter->each_context([ticket](Context& context) { context.events.release(ticket); });
        });
    } catch (const std::bad_alloc&) {
        release(ticket);
    }
}

void AsyncEvents::release(std::uint64_t ticket) {
    std::list<Held> one;
    support::MutexLock lock(mutex_);
    const auto found = std::find_if(held_.begin(), held_.end(),
                                    [&](const Held& held) { return held.ticket == ticket; });
    if (found == held_.end()) return;
    one.splice(one.end(), held_, found);
    if (one.front().event.empty()) return;  // retire() removed it
    queue_.splice(queue_.end(), one.front().event);
    raise_event(fd_);
}

void AsyncEvents::remove(Queue& queue, const void* object, Queue& gone) {
    for (auto at = queue.begin(); at != queue.end();) {
        const auto event = at++;
        if (names(object)(*event)) gone.splice(gone.end(), queue, event);
    }
}

int AsyncEvents::get(ibv_async_event& event) {
    for (;;) {
        // Blocking here is a cancellation point; no lock is held.
        eventfd_t one;
        if (read(fd_, &one, sizeof one) != sizeof one) return -1;
        Queue of_device;
        support::MutexLock lock(mutex_);
        if (queue_.empty()) continue;  // retire() removed it after the descriptor was raised
        event = queue_.front();
        const bool names_object = event.event_type != IBV_EVENT_DEVICE_FATAL;
        Queue& next = names_object ? fetched_ : of_device;
        next.splice(next.end(), queue_, queue_.begin());
        return 0;
    }
}

void AsyncEvents::retire(const void* object) {
    Queue gone;
    support::MutexLock lock(mutex_);
    remove(queue_, object, gone);
    for (Held& held : held_) remove(held.event, object, gone);
    while (std::any_of(fetched_.begin(), fetched_.end(), names(object))) acknowledged_.wait(mutex_);
}

void AsyncEvents::acknowledge(const void* object) {
    Queue gone;
    support::MutexLock lock(mutex_);
    const auto found = std::find_if(fetched_.begin(), fetched_.end(), names(object));
    if (found == fetched_.end()) return;
    gone.splice(gone.end(), fetched_, found);
    acknowledged_.notify_all();
}

}  // namespace softverbs

extern "C" {

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    return softverbs::Context::of(context).events.get(*event);
}

void ibv_ack_async_event(ibv_async_event* event) {
    const softverbs::EventObject about = softverbs::object_of(*event);
    if (about.context) softverbs::Context::of(about.context).events.acknowledge(about.object);
}

}  // extern "C"
