// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Handles what reaches connections from outside: messages, timeouts and the death of the peer. The
/// handlers run on the service thread.
#include <algorithm>
#include <cstring>

#include "providers/soft/softverbs/cm/engine.hpp"
#include "providers/soft/softverbs/fabric/address.hpp"

namespace softverbs {
namespace {

/// Factor by which the timeout of a request grows while its consumer has not answered it, as with
/// InfiniBand's MRA.
constexpr int kPendingFactor = 15;
/// Time from DISCONNECTED to TIMEWAIT_EXIT.
constexpr auto kTimeWait = std::chrono::seconds(1);
/// Most unfetched requests of one listener.
constexpr std::uint32_t kMaxRequestsWaiting = 65536;

/// Reports the values that the receiver should use: the other side's initiator depth becomes our
/// responder resources.
void fill_terms(rdma_conn_param& to, const QueuePairTerms& from) {
    to.responder_resources = from.initiator_depth;
    to.initiator_depth = from.responder_resources;
    to.flow_control = from.flow_control;
    to.retry_count = from.retry_count;
    to.rnr_retry_count = from.rnr_retry_count;
    to.srq = from.srq;
    to.qp_num = from.qp_num;
}

void fill_data(Event& event, const std::uint8_t* data, std::size_t length) {
    std::memcpy(event.data.data(), data, length);
    event.public_part.param.conn.private_data = event.data.data();
    event.public_part.param.conn.private_data_len = static_cast<std::uint8_t>(length);
}

/// Returns the message's name in fault rules.
faults::Subject subject_of(MessageType type) {
    using faults::Subject;
    switch (type) {
        case MessageType::kConnectPending:
            return Subject::kMra;
        case MessageType::kConnectReply:
            return Subject::kRep;
        case MessageType::kReadyToUse:
            return Subject::kRtu;
        case MessageType::kConnectReject:
            return Subject::kRej;
        case MessageType::kDisconnectRequest:
            return Subject::kDreq;
        case MessageType::kDisconnectReply:
            return Subject::kDrep;
        case MessageType::kResolveReply:
            return Subject::kSidrRep;
        default:
            return Subject::kReq;
    }
}

void agree(Identifier& id, const QueuePairTerms& remote) {
    id.remote = remote;
    id.own.initiator_depth = remote.responder_resources;
    id.own.responder_resources = remote.initiator_depth;
}

}  // namespace

void Engine::push_rejected(Identifier& id, std::uint32_t reason,
                           const std::array<std::uint8_t, kRejectData>& data) {
    Event& event = push(id, RDMA_CM_EVENT_REJECTED, static_cast<int>(reason));
    stop_timer(id);
    id.state = State::kFailed;
    fill_data(event, data.data(), data.size());
}

void Engine::disconnected(Identifier& id) {
    Events event = make_event(id, RDMA_CM_EVENT_DISCONNECTED);
    start_time_wait(id);
    stop_timer(id);
    id.state = State::kDisconnected;
    append(id, std::move(event));
}

/// Sets the timer for TIMEWAIT_EXIT, unless a fault rule drops it.
void Engine::start_time_wait(const Identifier& id) {
    using faults::Action;
    const auto rule = process_.faults().of(faults::Subject::kTimewaitExit,
                                           {id.service, id.peer ? &id.peer->identity() : nullptr});
    if (rule && rule->action == Action::kDrop) return;
    const int times = rule && rule->action == Action::kDuplicate ? 2 : 1;
    const faults::Duration later = rule ? rule->duration : faults::Duration::zero();
    process_.service().at(Clock::now() + scaled(kTimeWait + later),
                          [this, number = id.number, times] {
                              support::MutexLock lock(mutex);
                              Identifier* id = find(number);
                              if (!id || id->state != State::kDisconnected) return;
                              for (int i = 0; i < times; ++i)
                                  push(*id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
                          });
}

void Engine::end_connection(std::uint32_t qp_num) {
    support::MutexLock lock(mutex);
    for (const auto& [number, id] : ids_) {
        const bool is_up = id->state == State::kConnected || id->state == State::kAccepted ||
                           id->state == State::kReplied;
        if (!is_up || id->is_datagram() || id->own.qp_num != qp_num) continue;
        send_step(*id, MessageType::kDisconnectRequest);
        return disconnected(*id);
    }
}

void Engine::start_request(Identifier& id, const ConnectRequest& request,
                           const MemberRef& listener) {
    start_timer(id, patience_);
    process_.find_peer(listener, [this, number = id.number, request](auto found) {
        peer_found(number, request, std::move(found));
    });
    id.state = State::kConnecting;  // peer_found() takes the lock, so it sees this state
}

void Engine::peer_found(std::uint32_t number, const ConnectRequest& request,
                        Result<std::shared_ptr<Peer>> found) {
    support::MutexLock lock(mutex);
    Identifier* id = find(number);
    if (!id || id->state != State::kConnecting) return;
    if (found) {
        id->peer = *found;
        if (send(*id, MessageType::kConnectRequest, bytes_of(request))) return;
        return lost(*id);
    }
    if (id->is_datagram())
        return push_unresolved(*id, found.error() == ECONNREFUSED
                                        ? static_cast<int>(kResolveUnsupported)
                                        : -found.error());
    // The listener's process died, or left, since we looked it up.
    if (found.error() == ECONNREFUSED) return push_rejected(*id, kRejectInvalidService, {});
    push(*id, RDMA_CM_EVENT_UNREACHABLE, -found.error());
    stop_timer(*id);
    id->state = State::kFailed;
}

Result<void> Engine::send(const Identifier& id, MessageType type, std::span<const std::byte> body) {
    const DeviceStates states = process_.device_states();
    if (states.is_down({device_at(id.source), 1}) || states.is_down(id.remote_port)) return {};
    return send_to(id.peer, type, body, id.service);
}

Result<void> Engine::send_to(const std::shared_ptr<Peer>& peer, MessageType type,
                             std::span<const std::byte> body, std::uint16_t service) {
    const auto rule = process_.faults().of(subject_of(type), {service, &peer->identity()});
    return rule ? send_by_rule(peer, type, body, *rule) : peer->send(type, body);
}

Result<void> Engine::send_by_rule(const std::shared_ptr<Peer>& peer, MessageType type,
                                  std::span<const std::byte> body, const faults::Rule& rule) {
    if (rule.action == faults::Action::kDrop) return {};
    if (rule.action == faults::Action::kDelay) {
        const auto late = [peer, type, copy = std::vector(body.begin(), body.end())] {
            (void)peer->send(type, copy);
        };
        process_.service().at(Clock::now() + scaled(rule.duration), late);
        return {};
    }
    const auto sent = peer->send(type, body);
    return sent ? peer->send(type, body) : sent;
}

void Engine::fail_request(Identifier& id, const faults::Rule& rule) {
    if (rule.duration != faults::Duration::zero()) {
        start_timer(id, rule.duration);
        id.state = State::kConnecting;
        return;
    }
    if (rule.action == faults::Action::kReject && !id.is_datagram())
        return push_rejected(id, static_cast<std::uint32_t>(rule.error), {});
    if (id.is_datagram())
        return push_unresolved(id, rule.action == faults::Action::kReject
                                       ? static_cast<int>(kResolveRejected)
                                       : -ETIMEDOUT);
    push(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    id.state = State::kFailed;
}

int Engine::send_step(Identifier& id, MessageType type) {
    const ConnectionStep step = {id.number, id.remote_number};
    const auto sent = send(id, type, bytes_of(step));
    return sent ? 0 : sent.error();
}

void Engine::send_reject(Identifier& id, std::uint32_t reason, const void* data,
                         std::size_t length) {
    if (!id.peer) return;
    ConnectReject reject = {id.number, id.remote_number, reason, {}};
    if (length > 0) std::memcpy(reject.data.data(), data, length);
    (void)send(id, MessageType::kConnectReject, bytes_of(reject));
}

void Engine::abandon_connection(Identifier& id) {
    if (id.is_datagram()) {
        if (id.state == State::kRequested) refuse_resolution(id);
        return;
    }
    switch (id.state) {
        case State::kConnecting:
            return send_reject(id, kRejectTimeout);
        case State::kReplied:
        case State::kRequested:
            return send_reject(id, kRejectConsumer);
        case State::kAccepted:
        case State::kConnected:
            send_step(id, MessageType::kDisconnectRequest);
            return;
        default:
            return;
    }
}

/// @return the identifier that a message is for: both numbers and the sending peer must match.
template <class Body>
Identifier* Engine::addressee(const std::shared_ptr<Peer>& peer, const Body& body) {
    Identifier* id = find(body.to);
    if (!id || id->peer != peer) return nullptr;
    const bool first_answer = id->state == State::kConnecting && id->remote_number == 0;
    return first_answer || id->remote_number == body.from ? id : nullptr;
}

void Engine::on_request(const std::shared_ptr<Peer>& peer, const ConnectRequest& request) {
    support::MutexLock lock(mutex);
    if (is_known(peer, request)) return;
    Identifier* listener = find_listener(request);
    if (!listener || listener->requests_waiting >= kMaxRequestsWaiting) {
        if (is_datagram_space(request.port_space)) {
            const ResolveReply reply = {0, request.from, kResolveUnsupported, 0, 0, 0, {}};
            (void)send_to(peer, MessageType::kResolveReply, bytes_of(reply));
            return;
        }
        const ConnectReject reject = {0, request.from, kRejectInvalidService, {}};
        (void)send_to(peer, MessageType::kConnectReject, bytes_of(reject));
        return;
    }
    Events made = make_event(*listener, RDMA_CM_EVENT_CONNECT_REQUEST);
    Identifier& child = make_child(*listener, peer, request);
    Event& event = append(*listener, std::move(made));
    ++listener->requests_waiting;
    event.public_part.id = child.handle();
    event.public_part.listen_id = listener->handle();
    if (child.is_datagram()) {
        std::memcpy(event.data.data(), request.data.data(), request.data.size());
        event.public_part.param.ud.private_data = event.data.data();
        event.public_part.param.ud.private_data_len = kResolveRequestData;
        return;
    }
    fill_terms(event.public_part.param.conn, request.terms);
    fill_data(event, request.data.data(),
              request.port_space == RDMA_PS_IB ? kRequestData : kTcpRequestData);
    send_step(child, MessageType::kConnectPending);
}

Identifier& Engine::make_child(Identifier& listener, const std::shared_ptr<Peer>& peer,
                               const ConnectRequest& request) {
    auto child = std::make_unique<Identifier>();
    child->engine = this;
    rdma_cm_id& handle = child->public_part;
    handle.channel = listener.public_part.channel;
    handle.context = listener.public_part.context;
    handle.ps = listener.public_part.ps;
    handle.qp_type = listener.public_part.qp_type;
    child->child_qp = listener.child_qp;
    child->child_pd = listener.child_pd;
    child->source = request.destination;
    child->source_port = child->service = request.destination_port;
    child->destination = request.source;
    child->destination_port = request.source_port;
    fill(handle.route.addr.src_storage, child->source, child->source_port);
    fill(handle.route.addr.dst_storage, child->destination, child->destination_port);
    bind_to_device(*child);
    face(*child, request.terms.device);
    child->peer = peer;
    child->remote_number = request.from;
    agree(*child, request.terms);
    child->state = State::kRequested;
    add(*child);
    children_[{peer.get(), request.from}] = child.get();
    add_reference();
    return *child.release();
}

/// Only a fault rule sends a message twice. A peer may repeat a request under the same number after
/// it has withdrawn the first one.
bool Engine::is_known(const std::shared_ptr<Peer>& peer, const ConnectRequest& request) const {
    const auto child = children_.find({peer.get(), request.from});
    if (child == children_.end()) return false;
    const State state = child->second->state;
    return state == State::kRequested || state == State::kAccepted || state == State::kConnected;
}

/// Deletes a child whose request nobody has fetched; the caller removes the event.
void Engine::forget_unseen(Identifier& child) {
    drop_events(child);
    forget(child);
    delete &child;
    drop_reference();
}

void Engine::on_pending(const std::shared_ptr<Peer>& peer, const ConnectionStep& step) {
    support::MutexLock lock(mutex);
    Identifier* id = addressee(peer, step);
    if (!id || id->state != State::kConnecting) return;
    id->remote_number = step.from;
    start_timer(*id, patience_ * kPendingFactor);
}

void Engine::on_reply(const std::shared_ptr<Peer>& peer, const ConnectReply& reply) {
    support::MutexLock lock(mutex);
    Identifier* id = addressee(peer, reply);
    // This is the same reply once more: a ready-to-use has been sent, or will be.
    if (id && (id->state == State::kReplied || id->state == State::kConnected)) return;
    if (!id || id->state != State::kConnecting) {
        const ConnectReject reject = {reply.to, reply.from, kRejectTimeout, {}};
        (void)send_to(peer, MessageType::kConnectReject, bytes_of(reject));
        return;
    }
    // Becomes ESTABLISHED when it is fetched, if the identifier has a queue pair to bring up.
    Event& event = push(*id, RDMA_CM_EVENT_CONNECT_RESPONSE);
    stop_timer(*id);
    id->remote_number = reply.from;
    id->state = State::kReplied;
    const std::uint8_t wished = id->own.initiator_depth;
    agree(*id, reply.terms);
    face(*id, reply.terms.device);
    id->own.initiator_depth = std::min(id->own.initiator_depth, wished);
    fill_terms(event.public_part.param.conn, reply.terms);
    fill_data(event, reply.data.data(), reply.data.size());
}

void Engine::on_ready(const std::shared_ptr<Peer>& peer, const ConnectionStep& step) {
    support::MutexLock lock(mutex);
    Identifier* id = addressee(peer, step);
    if (!id || id->state == State::kFailed) {
        // We have given up: the other side must not consider this a connection.
        const ConnectionStep end = {step.to, step.from};
        (void)send_to(peer, MessageType::kDisconnectRequest, bytes_of(end));
        return;
    }
    if (id->state != State::kAccepted) return;
    push(*id, RDMA_CM_EVENT_ESTABLISHED);
    stop_timer(*id);
    id->state = State::kConnected;
}

void Engine::on_reject(const std::shared_ptr<Peer>& peer, const ConnectReject& reject) {
    support::MutexLock lock(mutex);
    Identifier* id = reject.to ? addressee(peer, reject) : nullptr;
    // 0: the request was withdrawn before its sender knew our number.
    for (auto entry = ids_.begin(); reject.to == 0 && !id && entry != ids_.end(); ++entry)
        if (entry->second->peer == peer && entry->second->remote_number == reject.from)
            id = entry->second;
    if (!id) return;
    if (id->state == State::kConnecting || id->state == State::kAccepted ||
        id->state == State::kRequested)
        push_rejected(*id, reject.reason, reject.data);
}

void Engine::on_disconnect_request(const std::shared_ptr<Peer>& peer, const ConnectionStep& step) {
    support::MutexLock lock(mutex);
    // Replies for a connection that no longer exists too, so that the peer does not wait.
    const ConnectionStep reply = {step.to, step.from};
    (void)send_to(peer, MessageType::kDisconnectReply, bytes_of(reply));
    Identifier* id = addressee(peer, step);
    if (id && id->is_connection()) disconnected(*id);
}

void Engine::on_disconnect_reply(const std::shared_ptr<Peer>& peer, const ConnectionStep& step) {
    support::MutexLock lock(mutex);
    Identifier* id = addressee(peer, step);
    if (id && id->state == State::kDisconnecting) disconnected(*id);
}

void Engine::on_peer_death(const std::shared_ptr<Peer>& peer) {
    support::MutexLock lock(mutex);
    for (const auto& [number, id] : ids_)
        if (id->peer == peer) lost(*id);
}

/// Ends the connection of an identifier whose peer is gone.
void Engine::lost(Identifier& id) {
    if (id.is_datagram() && id.state != State::kConnecting) return;
    switch (id.state) {
        case State::kConnecting:
        case State::kAccepted:
            push(id, RDMA_CM_EVENT_UNREACHABLE, -ECONNRESET);
            stop_timer(id);
            id.state = State::kFailed;
            return;
        case State::kReplied:
        case State::kConnected:
        case State::kDisconnecting:
            return disconnected(id);
        default:
            return;  // a request that waits for its consumer fails when it is accepted
    }
}

void Engine::no_answer(std::uint32_t number) {
    support::MutexLock lock(mutex);
    Identifier* id = find(number);
    if (!id || Clock::now() < id->answer_due) return;
    if (id->state == State::kConnecting && !id->is_datagram()) send_reject(*id, kRejectTimeout);
    if (id->state == State::kConnecting || id->state == State::kAccepted) {
        push(*id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
        id->state = State::kFailed;
    } else if (id->state == State::kDisconnecting) {
        disconnected(*id);
    }
}

}  // namespace softverbs
