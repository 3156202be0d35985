// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The application's steps of a connection: connect, accept, reject, establish, notify, disconnect.
#include <cstring>

#include "providers/soft/softverbs/cm/engine.hpp"
#include "providers/soft/softverbs/fabric/address.hpp"

namespace softverbs {
namespace {

/// Fills id.own, with the device's limits where the caller leaves a value open. @return 0 or an
/// errno.
int fill_terms(Identifier& id, const rdma_conn_param* param, std::uint8_t most_resources,
               std::uint8_t most_depth) {
    ibv_device_attr device = {};
    if (const int error = ibv_query_device(id.public_part.verbs, &device)) return error;
    QueuePairTerms& own = id.own;
    own = {};
    own.responder_resources =
        static_cast<std::uint8_t>(std::min<int>(most_resources, device.max_qp_rd_atom));
    own.initiator_depth =
        static_cast<std::uint8_t>(std::min<int>(most_depth, device.max_qp_init_rd_atom));
    own.device = static_cast<std::uint8_t>(device_at(id.source));
    own.flow_control = 1;
    own.retry_count = own.rnr_retry_count = 7;
    own.ece_vendor = id.local_ece.vendor_id;
    own.ece_options = id.local_ece.options;
    if (param) {
        if (param->responder_resources != RDMA_MAX_RESP_RES) {
            if (param->responder_resources > device.max_qp_rd_atom) return EINVAL;
            own.responder_resources = param->responder_resources;
        }
        if (param->initiator_depth != RDMA_MAX_INIT_DEPTH) {
            if (param->initiator_depth > device.max_qp_init_rd_atom) return EINVAL;
            own.initiator_depth = param->initiator_depth;
        }
        own.flow_control = param->flow_control;
        own.retry_count = std::min<std::uint8_t>(param->retry_count, 7);
        own.rnr_retry_count = std::min<std::uint8_t>(param->rnr_retry_count, 7);
        own.qp_num = param->qp_num;
        own.srq = param->srq;
    }
    if (const ibv_qp* qp = id.public_part.qp) {
        own.qp_num = qp->qp_num;
        own.srq = qp->srq != nullptr;
    }
    return 0;
}

/// Copies the caller's private data; the rest of the field stays zero. @return EINVAL when it does
/// not fit.
template <std::size_t kSize>
int fill_data(std::array<std::uint8_t, kSize>& field, const void* data, std::size_t length,
              std::size_t most = kSize) {
    if (length > most || (length > 0 && !data)) return EINVAL;
    if (length > 0) std::memcpy(field.data(), data, length);
    return 0;
}

/// Finds who listens at the destination, or on any address. An address of this machine also leads
/// to a listener on another address of this machine and device, which then becomes the destination.
/// @return ENOENT.
Result<MemberRef> find_listener(Index& index, ConnectRequest& request) {
    const auto there =
        index.find_listener({request.port_space, request.destination, request.destination_port});
    if (there || there.error() != ENOENT || !is_of_this_machine(request.destination)) return there;
    const auto others = index.find_listeners(request.port_space, request.destination_port);
    if (!others) return tl::unexpected(others.error());
    for (const Index::Listener& other : *others) {
        if (is_any(other.address) || !is_of_this_machine(other.address)) continue;
        if (device_at(other.address) != device_at(request.destination)) continue;
        request.destination = other.address;
        return other.member;
    }
    return there;
}

int connect(Identifier& id, const rdma_conn_param* param) {
    if (id.state != State::kRouteResolved) return EINVAL;
    ConnectRequest request = {};
    const std::size_t room = id.is_datagram()                  ? kResolveRequestData
                             : id.public_part.ps == RDMA_PS_IB ? kRequestData
                                                               : kTcpRequestData;
    if (param)
        if (const int error =
                fill_data(request.data, param->private_data, param->private_data_len, room))
            return error;
    if (const int error = fill_terms(id, param, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH))
        return error;
    id.engine->process().note_service(id.own.qp_num, id.service);
    request.from = id.number;
    request.port_space = id.public_part.ps;
    request.source = id.source;
    request.destination = id.destination;
    request.source_port = id.source_port;
    request.destination_port = id.destination_port;
    request.qp_type = id.public_part.qp_type;
    request.terms = id.own;
    const auto listener = find_listener(id.engine->index(), request);
    if (!listener && listener.error() != ENOENT) return listener.error();
    const auto rule = id.engine->process().faults().of(faults::Subject::kConnect, {id.service});
    support::MutexLock lock(id.engine->mutex);
    if (rule)
        id.engine->fail_request(id, *rule);
    else if (listener)
        id.engine->start_request(id, request, *listener);
    else if (id.is_datagram())
        id.engine->push_unresolved(id, kResolveUnsupported);
    else
        id.engine->push_rejected(id, kRejectInvalidService, {});
    return 0;
}

/// The requester went away while its request waited: reports the outcome of a reply that nobody
/// receives.
int accept_gone(Identifier& id) {
    support::MutexLock lock(id.engine->mutex);
    id.engine->push(id, RDMA_CM_EVENT_UNREACHABLE, -ECONNRESET);
    id.state = State::kFailed;
    return 0;
}

int accept(Identifier& id, const rdma_conn_param* param) {
    if (id.is_datagram()) return accept_datagrams(id, param);
    ConnectReply reply = {};
    {
        support::MutexLock lock(id.engine->mutex);
        if (id.state != State::kRequested) return EINVAL;
    }
    if (param)
        if (const int error = fill_data(reply.data, param->private_data, param->private_data_len))
            return error;
    // The requester's values, with the roles exchanged, are the maximum that makes sense.
    const std::uint8_t resources = id.remote.initiator_depth;
    const std::uint8_t depth = id.remote.responder_resources;
    if (const int error = fill_terms(id, param, resources, depth)) return error;
    id.own.retry_count = id.remote.retry_count;
    id.engine->process().note_service(id.own.qp_num, id.service);
    if (!id.peer->alive()) return accept_gone(id);
    if (id.public_part.qp)
        if (const int error = move_to_ready(id)) return id.peer->alive() ? error : accept_gone(id);
    reply.from = id.number;
    reply.to = id.remote_number;
    reply.terms = id.own;
    support::MutexLock lock(id.engine->mutex);
    if (id.state != State::kRequested) return ECONNRESET;  // withdrawn; its event waits
    Events gone = Engine::make_event(id, RDMA_CM_EVENT_UNREACHABLE, -ECONNRESET);
    id.engine->start_timer(id, id.engine->patience());
    if (id.engine->send(id, MessageType::kConnectReply, bytes_of(reply))) {
        id.state = State::kAccepted;
        return 0;
    }
    id.engine->stop_timer(id);
    id.state = State::kFailed;
    id.engine->append(id, std::move(gone));
    return 0;
}

int reject(Identifier& id, std::uint32_t reason, const void* data, std::size_t length) {
    std::array<std::uint8_t, kRejectData> field = {};
    if (const int error = fill_data(field, data, length)) return error;
    support::MutexLock lock(id.engine->mutex);
    if (id.state != State::kRequested && id.state != State::kReplied) return EINVAL;
    if (id.is_datagram())
        id.engine->refuse_resolution(id);
    else
        id.engine->send_reject(id, reason, data, length);
    id.state = State::kFailed;
    return 0;
}

/// For callers that bring up their queue pair themselves, after CONNECT_RESPONSE.
int establish(Identifier& id) {
    support::MutexLock lock(id.engine->mutex);
    if (id.public_part.qp || id.state != State::kReplied) return EINVAL;
    id.state = State::kConnected;
    return id.engine->send_step(id, MessageType::kReadyToUse);
}

/// Completes the connection when the first message has overtaken the other side's ready-to-use.
int notify(Identifier& id, ibv_event_type event) {
    if (event != IBV_EVENT_COMM_EST) return EINVAL;
    support::MutexLock lock(id.engine->mutex);
    if (id.state != State::kAccepted) return id.state == State::kConnected ? EISCONN : EINVAL;
    id.engine->push(id, RDMA_CM_EVENT_ESTABLISHED);
    id.engine->stop_timer(id);
    id.state = State::kConnected;
    return 0;
}

int disconnect(Identifier& id) {
    if (id.is_datagram()) return EINVAL;
    {
        support::MutexLock lock(id.engine->mutex);
        const bool was_connected = id.state == State::kDisconnected;
        const bool is_answered =
            id.state >= State::kReplied && id.is_connection() && id.state != State::kRequested;
        if (!was_connected && !is_answered) return EINVAL;
    }
    move_to_error(id);
    support::MutexLock lock(id.engine->mutex);
    if (id.state == State::kDisconnected || id.state == State::kDisconnecting) return 0;
    // Retried while memory is short: the caller needs it and has no alternative. Both run with the
    // lock held.
    const auto start = [&]() NO_THREAD_SAFETY_ANALYSIS {
        id.engine->start_timer(id, id.engine->patience());
    };
    const auto end = [&]() NO_THREAD_SAFETY_ANALYSIS { id.engine->disconnected(id); };
    if (!Service::persist(start)) return ENOMEM;
    id.state = State::kDisconnecting;
    if (id.engine->send_step(id, MessageType::kDisconnectRequest) != 0) Service::persist(end);
    return 0;
}

}  // namespace
}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::guarded;
using softverbs::Identifier;

extern "C" {

int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        forget_event(Identifier::of(id));
        const int error = softverbs::connect(Identifier::of(id), param);
        return error ? error : complete(Identifier::of(id));
    });
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        const int error = softverbs::accept(Identifier::of(id), param);
        if (error) return error;
        forget_event(Identifier::of(id));
        return Identifier::of(id).is_datagram() ? 0 : complete(Identifier::of(id));
    });
}

int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t length) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::reject(Identifier::of(id), softverbs::kRejectConsumer, data, length);
    });
}

int rdma_reject_ece(rdma_cm_id* id, const void* data, std::uint8_t length) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::reject(Identifier::of(id), softverbs::kRejectVendorOption, data, length);
    });
}

int rdma_establish(rdma_cm_id* id) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::establish(Identifier::of(id));
    });
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::notify(Identifier::of(id), event);
    });
}

int rdma_disconnect(rdma_cm_id* id) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        forget_event(Identifier::of(id));
        const int error = softverbs::disconnect(Identifier::of(id));
        return error ? error : complete(Identifier::of(id));
    });
}

}  // extern "C"
