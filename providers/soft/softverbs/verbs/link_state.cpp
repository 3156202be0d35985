// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ports that lose their link, and devices that are removed, while queue pairs use them
/// (fabric/device_states.hpp): what each context is told, and what becomes of queue pairs.
#include <algorithm>

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

ibv_event_type type_of(faults::Action event) {
    switch (event) {
        case faults::Action::kLidChange:
            return IBV_EVENT_LID_CHANGE;
        case faults::Action::kGidChange:
            return IBV_EVENT_GID_CHANGE;
        case faults::Action::kPkeyChange:
            return IBV_EVENT_PKEY_CHANGE;
        case faults::Action::kSmChange:
            return IBV_EVENT_SM_CHANGE;
        default:
            return IBV_EVENT_CLIENT_REREGISTER;
    }
}

}  // namespace

/// An event for the contexts of a device, made once for each context, so that telling it allocates
/// nothing.
struct Adapter::Notice {
    Notice(std::size_t contexts, unsigned of_device, const ibv_async_event& event)
        : device(of_device), copies(contexts, event) {}
    unsigned device;
    AsyncEvents::Queue copies;
};

void Adapter::add(Context* context) {
    std::list<Context*> one{context};
    support::MutexLock lock(contexts_mutex_);
    contexts_.splice(contexts_.end(), one);
}

void Adapter::remove(Context* context) {
    // A child of fork() that inherited the context is not a member, and the lock may be held in it
    // for ever.
    if (Process::current() != &process_) return;
    std::list<Context*> gone;
    support::MutexLock lock(contexts_mutex_);
    const auto found = std::find(contexts_.begin(), contexts_.end(), context);
    if (found != contexts_.end()) gone.splice(gone.end(), contexts_, found);
}

void Adapter::each_context(const std::function<void(Context&)>& visit) {
    support::MutexLock lock(contexts_mutex_);
    for (Context* context : contexts_) visit(*context);
}

std::size_t Adapter::count_contexts() {
    support::MutexLock lock(contexts_mutex_);
    return contexts_.size();
}

/// Contexts that were opened after the notices were made get none: they have found the device as it
/// is.
void Adapter::tell(Notices& notices) {
    support::MutexLock lock(contexts_mutex_);
    for (Notice& notice : notices)
        for (Context* context : contexts_)
            if (context->device == notice.device && !notice.copies.empty())
                context->events.push_first(notice.copies);
}

/// Adds what the contexts of a device hear of its ports.
void Adapter::note_links(Notices& notices, unsigned device, DeviceStates before, DeviceStates now) {
    const std::size_t contexts = count_contexts();
    for (unsigned port = 1; port <= port_count(); ++port) {
        const bool is_down = now.is_down({device, port});
        if (is_down == before.is_down({device, port})) continue;
        notices.emplace_back(contexts, device,
                             event_of(is_down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE, port));
        if (!is_down)
            notices.emplace_back(contexts, device, event_of(IBV_EVENT_CLIENT_REREGISTER, port));
    }
}

/// Tells of events that change nothing: whoever looks again finds the same addresses and keys.
void Adapter::tell_event(faults::Action event, std::uint32_t ports) {
    const DeviceStates states = process_.device_states();
    Notices notices;
    for (unsigned index = 0; index < kMostPortIds; ++index) {
        const PortId port = PortId::at(index);
        const bool is_there = port.port <= port_count() && !states.is_removed(port.device);
        if (!is_there || (ports >> index & 1) == 0) continue;
        notices.emplace_back(count_contexts(), port.device, event_of(type_of(event), port.port));
    }
    tell(notices);
}

/// Whoever finds a request flushed can know why, and whoever hears of a link that is back can use
/// it. All events are made before the first is told: the service thread repeats a handler that runs
/// out of memory, and nobody may hear of a change twice.
void Adapter::states_changed(DeviceStates before) {
    const DeviceStates now = process_.device_states();
    Notices removals, links;
    for (unsigned device = 0; device < kMostDevices; ++device) {
        // A removed device has no port of which anything could be told.
        if (!now.is_removed(device))
            note_links(links, device, before, now);
        else if (!before.is_removed(device))
            removals.emplace_back(count_contexts(), device, event_of(IBV_EVENT_DEVICE_FATAL));
    }
    tell(removals);
    (void)Service::persist([this] {
        support::MutexLock lock(mutex);
        each_queue_pair([](QueuePair& qp) { qp.look_at_link(); });
    });
    tell(links);
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
    const bool was_cut = is_cut();
    note_link();
    if (is_cut() == was_cut) return;
    if (is_cut()) return stop_requesters();
    const ibv_qp_state state = state_.load();
    if (state < IBV_QPS_RTR || state > IBV_QPS_SQE) return;
    open_to_requesters();
    wake_requester();
    drain();
}

/// Sets all that follows from whether there is a link.
void QueuePair::set_cut(bool is_cut) {
    is_cut_ = is_cut;
    note_detour();
}

/// Notes whether the port that the queue pair was given in INIT has a link.
void QueuePair::note_link() {
    set_cut(attributes_.port_num != 0 && adapter_.process().device_states().is_down(port()));
}

/// Takes the queue pair off the direct path while it has no link, or a fault rule concerns it, and
/// if the entries of completions at the other end have less room than that path assumes.
/// Datagrams compare with one number of their own, as they take no direct path.
void QueuePair::note_detour() {
    const bool has_detour = is_cut_ || faults_;
    const bool is_tight = target_.completions && target_.longest_in_entry() != kEntryInlineBytes;
    longest_direct_ = has_detour || is_tight ? 0 : kLongestDirect;
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
    if (!is_cut()) entry_->readiness.store(when_connected(), std::memory_order_seq_cst);
}

/// The device is gone: everything posted is flushed.
void QueuePair::remove() {
    set_cut(true);
    const ibv_qp_state state = state_.load();
    if (state != IBV_QPS_RESET) enter_error(IBV_WC_WR_FLUSH_ERR);
}

}  // namespace softverbs
