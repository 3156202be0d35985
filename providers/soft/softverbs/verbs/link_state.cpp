// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ports that lose their link, and devices that are removed, while queue pairs use them
/// (fabric/device_states.hpp): what each context is told, and what becomes of queue pairs.
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

ibv_async_event event_of(ibv_event_type type, unsigned port = 0) {
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = static_cast<int>(port);
    return event;
}

}  // namespace

void Adapter::add(Context* context) {
    support::MutexLock lock(contexts_mutex_);
    contexts_.push_back(context);
}

void Adapter::remove(Context* context) {
    // A child of fork() that inherited the context is not a member, and the lock may be held in it
    // for ever.
    if (Process::current() != &process_) return;
    support::MutexLock lock(contexts_mutex_);
    std::erase(contexts_, context);
}

void Adapter::tell(unsigned device, const ibv_async_event& event) {
    support::MutexLock lock(contexts_mutex_);
    for (Context* context : contexts_)
        if (context->device == device) context->events.push(event);
}

/// A removed device has no port of which anything could be told.
void Adapter::tell_of_link(PortId port, bool is_up) {
    if (!is_up) return tell(port.device, event_of(IBV_EVENT_PORT_ERR, port.port));
    tell(port.device, event_of(IBV_EVENT_PORT_ACTIVE, port.port));
    tell(port.device, event_of(IBV_EVENT_CLIENT_REREGISTER, port.port));
}

/// Whoever finds a request flushed can know why, and whoever hears of a link that is back can use
/// it.
void Adapter::states_changed(DeviceStates before) {
    const DeviceStates now = process_.device_states();
    for (unsigned device = 0; device < kMostDevices; ++device)
        if (now.is_removed(device) && !before.is_removed(device))
            tell(device, event_of(IBV_EVENT_DEVICE_FATAL));
    {
        support::MutexLock lock(mutex);
        each_queue_pair([](QueuePair& qp) { qp.look_at_link(); });
    }
    for (unsigned device = 0; device < kMostDevices; ++device) {
        if (now.is_removed(device)) continue;
        for (unsigned port = 1; port <= port_count(); ++port) {
            const PortId id{device, port};
            if (now.is_down(id) != before.is_down(id)) tell_of_link(id, !now.is_down(id));
        }
    }
}

PortId QueuePair::port() const {
    return {device_, attributes_.port_num};
}

/// Nobody may begin a request at a queue pair without a link; what has begun ends. Its own requests
/// wait, as if the peer were not ready, until the link is back or their timers have run out.
void QueuePair::look_at_link() {
    look_at_faults();
    support::SpinLockGuard lock(send_lock_);
    const DeviceStates states = adapter_.process().device_states();
    if (states.is_removed(device_)) return remove();
    const bool was_cut = is_cut_;
    note_link();
    if (is_cut_ == was_cut) return;
    if (is_cut_) return stop_requesters();
    const ibv_qp_state state = state_.load();
    if (state < IBV_QPS_RTR || state > IBV_QPS_SQE) return;
    open_to_requesters();
    wake_requester();
    drain();
}

/// Notes whether the port that the queue pair was given in INIT has a link.
void QueuePair::note_link() {
    is_cut_ = attributes_.port_num != 0 && adapter_.process().device_states().is_down(port());
    note_detour();
}

/// Takes the queue pair off the direct path while it has no link, or a fault rule concerns it.
void QueuePair::note_detour() {
    const bool has_detour = is_cut_ || faults_;
    longest_direct_ = has_detour ? 0 : kLongestDirect;
    if (datagrams_) datagrams_->note_port(static_cast<std::uint8_t>(port().index()), has_detour);
}

void QueuePair::stop_requesters() {
    for (const Readiness open : {Readiness::kReady, Readiness::kExpectant, Readiness::kXrcReady}) {
        Readiness found = open;
        entry_->readiness.compare_exchange_strong(found, Readiness::kNotReady,
                                                  std::memory_order_seq_cst);
    }
}

void QueuePair::open_to_requesters() {
    if (!is_cut_) entry_->readiness.store(when_connected(), std::memory_order_seq_cst);
}

/// The device is gone: everything posted is flushed.
void QueuePair::remove() {
    is_cut_ = true;
    longest_direct_ = 0;
    if (datagrams_) datagrams_->note_port(static_cast<std::uint8_t>(port().index()), true);
    const ibv_qp_state state = state_.load();
    if (state != IBV_QPS_RESET) enter_error(IBV_WC_WR_FLUSH_ERR);
}

}  // namespace softverbs
