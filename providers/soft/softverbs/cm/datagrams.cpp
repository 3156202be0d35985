// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Datagram port spaces: no connection is made; a listener is only asked for its queue pair
/// (InfiniBand's service ID resolution). The requester's ESTABLISHED carries the answer; the side
/// that answered gets no further event.
#include <cstring>

#include "providers/soft/softverbs/cm/engine.hpp"

namespace softverbs {
int accept_datagrams(Identifier& id, const rdma_conn_param* param) {
    const std::size_t length = param ? param->private_data_len : 0;
    if (length > kResolveReplyData || (length > 0 && !param->private_data)) return EINVAL;
    const ibv_qp* qp = id.public_part.qp;
    if (!qp && !param) return EINVAL;
    ResolveReply reply = {};
    if (length > 0) std::memcpy(reply.data.data(), param->private_data, length);
    reply.qp_num = qp ? qp->qp_num : param->qp_num;
    reply.qkey = kDatagramKey;
    reply.device = device_at(id.source);
    support::MutexLock lock(id.engine->mutex);
    if (id.state != State::kRequested) return EINVAL;
    id.state = State::kConnected;
    id.engine->send_resolved(id, reply);
    return 0;
}

void Engine::send_resolved(Identifier& id, ResolveReply& reply) {
    reply.from = id.number;
    reply.to = id.remote_number;
    // A requester that is gone needs no answer.
    (void)send(id, MessageType::kResolveReply, bytes_of(reply));
}

void Engine::refuse_resolution(Identifier& id) {
    ResolveReply reply = {};
    reply.status = kResolveRejected;
    send_resolved(id, reply);
}

void Engine::push_unresolved(Identifier& id, int status) {
    push(id, RDMA_CM_EVENT_UNREACHABLE, status);
    stop_timer(id);
    id.state = State::kFailed;
}

void Engine::on_resolved(const std::shared_ptr<Peer>& peer, const ResolveReply& reply) {
    support::MutexLock lock(mutex);
    Identifier* id = find(reply.to);
    if (!id || id->peer != peer || id->state != State::kConnecting || !id->is_datagram()) return;
    if (reply.status != 0) return push_unresolved(*id, static_cast<int>(reply.status));
    Event& event = push(*id, RDMA_CM_EVENT_ESTABLISHED);
    stop_timer(*id);
    id->state = State::kConnected;
    event.data = {};
    std::memcpy(event.data.data(), reply.data.data(), reply.data.size());
    rdma_ud_param& answer = event.public_part.param.ud;
    answer.private_data = event.data.data();
    answer.private_data_len = kResolveReplyData;
    answer.qp_num = reply.qp_num;
    answer.qkey = reply.qkey;
    face(*id, reply.device);
    answer.ah_attr.dlid = lid_of(process_, id->remote_port);
    answer.ah_attr.port_num = id->public_part.port_num;
    if (!is_roce()) return;
    answer.ah_attr.is_global = 1;
    answer.ah_attr.grh.dgid = id->public_part.route.addr.addr.ibaddr.dgid;
    answer.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_for(id->source));
    answer.ah_attr.grh.hop_limit = 1;
}

int fill_datagram_attributes(const Identifier& id, ibv_qp_attr& attr, int& mask) {
    switch (attr.qp_state) {
        case IBV_QPS_INIT:
            mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
            attr.pkey_index = 0;
            attr.port_num = id.public_part.port_num;
            attr.qkey = kDatagramKey;
            return 0;
        case IBV_QPS_RTR:
            mask = IBV_QP_STATE;
            return 0;
        case IBV_QPS_RTS:
            mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
            attr.sq_psn = 0;
            return 0;
        default:
            return EINVAL;
    }
}

}  // namespace softverbs
