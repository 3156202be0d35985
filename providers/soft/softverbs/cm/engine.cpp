// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/cm/engine.hpp"

#include <atomic>
#include <cstring>

#include "providers/soft/softverbs/fabric/address.hpp"
#include "providers/soft/softverbs/fabric/per_process.hpp"
#include "support/settings/settings.hpp"

namespace softverbs {

/// Lives as long as the process; its engine lives as long as the device is open.
struct Engine::Shared {
    support::Mutex mutex;
    int references GUARDED_BY(mutex) = 0;
    /// Owned by the fabric's Process, because its service thread calls it.
    std::atomic<Engine*> engine{nullptr};
    std::array<ibv_context*, kMostDevices> verbs GUARDED_BY(mutex){};

    int open() REQUIRES(mutex);
    void close() REQUIRES(mutex);
};

/// Opens those devices that are not open. @return 0 or an errno.
int Engine::Shared::open() {
    if (verbs[device_count() - 1]) return 0;
    ibv_device** devices = ibv_get_device_list(nullptr);
    if (!devices) return ENOMEM;
    int error = 0;
    for (unsigned device = 0; device < device_count() && error == 0; ++device) {
        if (!verbs[device]) verbs[device] = ibv_open_device(devices[device]);
        if (!verbs[device]) error = errno;
    }
    ibv_free_device_list(devices);
    return error;
}

/// Closes the devices, unless objects of the application keep them open; the next user then finds
/// them as they are.
void Engine::Shared::close() {
    Engine* const current = engine.load();
    for (unsigned device = 0; device < device_count(); ++device) {
        ibv_pd* const pd = current ? current->devices_[device].pd : nullptr;
        if (pd && ibv_dealloc_pd(pd) != 0) continue;
        if (current) current->devices_[device].pd = nullptr;
        if (verbs[device] && ibv_close_device(verbs[device]) == 0) verbs[device] = nullptr;
    }
}

/// Closes the device at the end of a call after which nobody refers to the engine.
class Engine::Unused {
  public:
    explicit Unused(Shared& shared) : shared_(shared) {}
    ~Unused() NO_THREAD_SAFETY_ANALYSIS {
        if (shared_.references == 0) shared_.close();
    }
    Unused(const Unused&) = delete;
    Unused& operator=(const Unused&) = delete;

  private:
    Shared& shared_;
};

Engine::Shared& Engine::shared() {
    static PerProcess<Shared> instance;
    return instance.get();
}

Engine::~Engine() {
    // In a child after fork this is the parent's, which nobody destroys.
    Engine* self = this;
    shared().engine.compare_exchange_strong(self, nullptr);
}

Result<Engine*> Engine::acquire() {
    CancellationDisabled no_cancellation;
    Shared& shared = Engine::shared();
    support::MutexLock lock(shared.mutex);
    const Unused unused(shared);
    if (const int error = shared.open()) return tl::unexpected(error);
    if (!shared.engine.load()) {
        auto made = std::make_shared<Engine>(*Process::current());
        made->process_.keep(made);
        shared.engine.store(made.get());
    }
    Engine* engine = shared.engine.load();
    for (unsigned device = 0; device < device_count(); ++device) {
        Device& opened = engine->devices_[device];
        opened.verbs = shared.verbs[device];
        if (!opened.pd) opened.pd = ibv_alloc_pd(shared.verbs[device]);
        if (!opened.pd) return tl::unexpected(errno);
    }
    if (!engine->installed_) engine->install_handlers();
    engine->installed_ = true;
    ++shared.references;
    return engine;
}

void Engine::release() {
    CancellationDisabled no_cancellation;
    Shared& shared = Engine::shared();
    support::MutexLock lock(shared.mutex);
    // A child that releases what it inherited holds no reference.
    if (shared.references == 0 || --shared.references > 0) return;
    shared.close();
}

EngineReference::~EngineReference() {
    if (engine_) Engine::release();
}

void Engine::add_reference() {
    support::MutexLock lock(shared().mutex);
    ++shared().references;
}

void Engine::drop_reference() {
    support::MutexLock lock(shared().mutex);
    --shared().references;
}

void Engine::add(Identifier& id) {
    do ++last_number_;
    while (last_number_ == 0 || ids_.count(last_number_));
    ids_[last_number_] = &id;
    id.number = last_number_;
}

void Engine::remove(Identifier& id) {
    stop_timer(id);
    if (id.state == State::kListening)
        listeners_.erase(key_of(id.public_part.ps, id.bound->address, id.bound->port));
    abandon_connection(id);
    id.state = State::kFailed;
    drop_events(id);
    while (id.events_fetched > 0) acknowledged_.wait(mutex);
    forget(id);
}

void Engine::forget(const Identifier& id) {
    const auto child = children_.find({id.peer.get(), id.remote_number});
    if (child != children_.end() && child->second == &id) children_.erase(child);
    ids_.erase(id.number);
}

Identifier* Engine::find(std::uint32_t number) {
    const auto found = ids_.find(number);
    return found == ids_.end() ? nullptr : found->second;
}

Engine::ListenerKey Engine::key_of(std::uint32_t port_space, const in6_addr& address,
                                   std::uint16_t port) {
    return {port_space, std::to_array(address.s6_addr), port};
}

void Engine::listen(Identifier& id) {
    listeners_[key_of(id.public_part.ps, id.bound->address, id.bound->port)] = &id;
    id.state = State::kListening;
}

Identifier* Engine::find_listener(const ConnectRequest& request) {
    for (const in6_addr& address : {request.destination, mapped({INADDR_ANY}), in6addr_any}) {
        const auto found =
            listeners_.find(key_of(request.port_space, address, request.destination_port));
        if (found != listeners_.end()) return found->second;
    }
    return nullptr;
}

void Engine::bind_to_device(Identifier& id) {
    const unsigned device = device_at(id.source);
    rdma_cm_id& handle = id.public_part;
    handle.verbs = devices_[device].verbs;
    handle.pd = devices_[device].pd;
    handle.port_num = 1;
    rdma_ib_addr& address = handle.route.addr.addr.ibaddr;
    std::uint16_t pkey = 0;
    ibv_query_pkey(handle.verbs, 1, 0, &pkey);
    address.pkey = pkey;
    address.sgid = gid_of(process_, {device, 1}, gid_index_for(id.source));
    face(id, is_any(id.destination) ? device : device_at(id.destination));
}

void Engine::face(Identifier& id, unsigned device) {
    id.remote_port = {device % kMostDevices, 1};
    id.public_part.route.addr.addr.ibaddr.dgid =
        gid_of(process_, id.remote_port, gid_index_for(id.source));
}

void Engine::start_timer(Identifier& id, Clock::duration patience) {
    stop_timer(id);
    id.answer_due = Clock::now() + scaled(patience);
    id.timer =
        process_.service().at(id.answer_due, [this, number = id.number] { no_answer(number); });
}

void Engine::stop_timer(Identifier& id) {
    if (id.timer) process_.service().cancel(id.timer);
    id.timer = 0;
}

void Engine::install_handlers() {
    patience_ = std::chrono::milliseconds(
        support::setting_integer(support::Setting::kSoftverbsConnectTimeout));
    handle(MessageType::kConnectRequest, &Engine::on_request);
    handle(MessageType::kConnectPending, &Engine::on_pending);
    handle(MessageType::kConnectReply, &Engine::on_reply);
    handle(MessageType::kResolveReply, &Engine::on_resolved);
    handle(MessageType::kReadyToUse, &Engine::on_ready);
    handle(MessageType::kConnectReject, &Engine::on_reject);
    handle(MessageType::kDisconnectRequest, &Engine::on_disconnect_request);
    handle(MessageType::kDisconnectReply, &Engine::on_disconnect_reply);
    process_.on_peer_death([this](const std::shared_ptr<Peer>& peer) { on_peer_death(peer); });
    process_.on_device_states([this](DeviceStates before) { on_device_states(before); });
    process_.end_connection.set([this](std::uint32_t qp_num) { end_connection(qp_num); });
}

/// Tells each identifier that is bound to a device which has been removed now. All events are made
/// before the first is told: the service thread repeats a handler that runs out of memory.
void Engine::on_device_states(DeviceStates before) {
    const DeviceStates now = process_.device_states();
    support::MutexLock lock(mutex);
    Events made;
    for (const auto& [number, id] : ids_) {
        const unsigned device = device_at(id->source);
        if (id->public_part.verbs && now.is_removed(device) && !before.is_removed(device))
            made.splice(made.end(), make_event(*id, RDMA_CM_EVENT_DEVICE_REMOVAL));
    }
    while (!made.empty()) {
        Events event = take_first(made);
        Identifier& id = *event.front()->counted_on;
        append(id, std::move(event));
    }
}

template <class Body>
void Engine::handle(MessageType type,
                    void (Engine::*handler)(const std::shared_ptr<Peer>&, const Body&)) {
    process_.handle(type, [this, handler](const std::shared_ptr<Peer>& peer, Message& message) {
        const Body* body = message.as<Body>();
        if (!body) return process_.reject_garbage(peer, "a connection message of the wrong length");
        // Copied because only the service thread knows the buffer's alignment.
        Body copy;
        std::memcpy(&copy, message.body.data(), sizeof copy);
        (this->*handler)(peer, copy);
    });
}

}  // namespace softverbs
