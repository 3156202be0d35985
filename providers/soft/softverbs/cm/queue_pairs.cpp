// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Queue pairs that belong to identifiers: creation and state changes.
#include "providers/soft/softverbs/cm/engine.hpp"

namespace softverbs {
namespace {

/// 4.096 us << 14 = 67 ms, unless the application has set another one.
constexpr std::uint8_t kAckTimeout = 14;
/// 0.64 ms.
constexpr std::uint8_t kRnrTimer = 12;
constexpr std::uint32_t kPsnMask = 0xffffff;

void fill_init(const Identifier& id, ibv_qp_attr& attr, int& mask) {
    mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    if (id.own.responder_resources > 0)
        attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    attr.pkey_index = 0;
    attr.port_num = id.public_part.port_num;
}

int fill_ready_to_receive(const Identifier& id, ibv_qp_attr& attr, int& mask) {
    ibv_port_attr port = {};
    if (const int error = ibv_query_port(id.public_part.verbs, id.public_part.port_num, &port))
        return error;
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attr.ah_attr = {};
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = id.public_part.route.addr.addr.ibaddr.dgid;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_for(id.source));
    attr.ah_attr.grh.hop_limit = 1;
    attr.ah_attr.dlid = lid_of(id.engine->process(), id.remote_port);
    attr.ah_attr.port_num = id.public_part.port_num;
    attr.path_mtu = port.active_mtu;
    attr.dest_qp_num = id.remote.qp_num;
    attr.rq_psn = id.remote_number & kPsnMask;
    attr.max_dest_rd_atomic = id.own.responder_resources;
    attr.min_rnr_timer = kRnrTimer;
    return 0;
}

void fill_ready_to_send(const Identifier& id, ibv_qp_attr& attr, int& mask) {
    mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC;
    attr.timeout = id.ack_timeout.value_or(kAckTimeout);
    attr.retry_cnt = id.remote.retry_count;  // the requester's value holds for both sides
    attr.rnr_retry = id.remote.rnr_retry_count;
    attr.sq_psn = id.number & kPsnMask;
    attr.max_rd_atomic = id.own.initiator_depth;
}

int init_attributes(const Identifier& id, ibv_qp_attr& attr, int& mask) {
    if (!id.public_part.verbs) return EINVAL;
    if (id.is_datagram()) return fill_datagram_attributes(id, attr, mask);
    const bool has_peer = id.remote_number != 0;
    switch (attr.qp_state) {
        case IBV_QPS_INIT:
            fill_init(id, attr, mask);
            return 0;
        case IBV_QPS_RTR:
            return has_peer ? fill_ready_to_receive(id, attr, mask) : EINVAL;
        case IBV_QPS_RTS:
            if (!has_peer) return EINVAL;
            fill_ready_to_send(id, attr, mask);
            return 0;
        default:
            return EINVAL;
    }
}

int move(Identifier& id, ibv_qp_state state) {
    ibv_qp_attr attr = {};
    int mask = 0;
    attr.qp_state = state;
    {
        support::MutexLock lock(id.engine->mutex);
        if (const int error = init_attributes(id, attr, mask)) return error;
    }
    return ibv_modify_qp(id.public_part.qp, &attr, mask);
}

/// Creates a completion queue with a channel for the identifier, if the caller gave none.
int make_completion_queue(rdma_cm_id* id, std::uint32_t size, ibv_comp_channel*& channel,
                          ibv_cq*& cq) {
    if (cq || size == 0) return 0;
    channel = ibv_create_comp_channel(id->verbs);
    if (!channel) return errno;
    cq = ibv_create_cq(id->verbs, static_cast<int>(size), id, channel, 0);
    return cq ? 0 : errno;
}

int make_completion_queues(rdma_cm_id* id, ibv_qp_init_attr_ex& attr) {
    if (!attr.send_cq) {
        if (const int error = make_completion_queue(id, std::max(attr.cap.max_send_wr, 1u),
                                                    id->send_cq_channel, id->send_cq))
            return error;
        attr.send_cq = id->send_cq;
    }
    if (!attr.recv_cq) {
        if (const int error = make_completion_queue(id, std::max(attr.cap.max_recv_wr, 1u),
                                                    id->recv_cq_channel, id->recv_cq))
            return error;
        attr.recv_cq = id->recv_cq;
    }
    return 0;
}

void destroy_completion_queues(rdma_cm_id* id) {
    if (id->recv_cq) ibv_destroy_cq(id->recv_cq);
    if (id->recv_cq_channel) ibv_destroy_comp_channel(id->recv_cq_channel);
    if (id->send_cq) ibv_destroy_cq(id->send_cq);
    if (id->send_cq_channel) ibv_destroy_comp_channel(id->send_cq_channel);
    id->recv_cq = id->send_cq = nullptr;
    id->recv_cq_channel = id->send_cq_channel = nullptr;
}

/// Moves a new queue pair to INIT, so that receives can be posted; a datagram queue pair to RTS, so
/// that it can send too.
int make_usable(rdma_cm_id* id) {
    Identifier& identifier = Identifier::of(id);
    return identifier.is_datagram() ? move_to_ready(identifier) : move_to_init(id);
}

int create(rdma_cm_id* id, ibv_qp_init_attr_ex& attr) {
    if (!id->verbs || id->qp || id->qp_type != attr.qp_type) return EINVAL;
    if (!(attr.comp_mask & IBV_QP_INIT_ATTR_PD)) {
        attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
        attr.pd = id->pd;
    }
    if (!attr.pd || attr.pd->context != id->verbs) return EINVAL;
    if (!attr.srq) attr.srq = id->srq;
    int error = make_completion_queues(id, attr);
    if (error == 0) {
        id->qp = ibv_create_qp_ex(id->verbs, &attr);
        Identifier& owner = Identifier::of(id);
        if (id->qp) owner.engine->process().note_service(id->qp->qp_num, owner.service);
        error = id->qp ? make_usable(id) : errno;
    }
    if (error == 0) {
        id->pd = attr.pd;
        return 0;
    }
    if (id->qp) ibv_destroy_qp(id->qp);
    id->qp = nullptr;
    destroy_completion_queues(id);
    return error;
}

}  // namespace

int move_to_init(rdma_cm_id* id) {
    return move(Identifier::of(id), IBV_QPS_INIT);
}

/// Moves to INIT once more: only now it is known whether the peer may read.
int move_to_ready(Identifier& id) {
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
        if (const int error = move(id, state)) return error;
    return 0;
}

void move_to_error(Identifier& id) {
    if (!id.public_part.qp) return;
    ibv_qp_attr attr = {};
    attr.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(id.public_part.qp, &attr, IBV_QP_STATE);
}

}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::guarded;
using softverbs::Identifier;

extern "C" {

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attr) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return attr ? softverbs::create(id, *attr) : EINVAL;
    });
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attr) {
    if (!attr) {
        errno = EINVAL;
        return -1;
    }
    ibv_qp_init_attr_ex extended = {};
    // The old structure is the head of the new one, up to its padding.
    extended.qp_context = attr->qp_context;
    extended.send_cq = attr->send_cq;
    extended.recv_cq = attr->recv_cq;
    extended.srq = attr->srq;
    extended.cap = attr->cap;
    extended.qp_type = attr->qp_type;
    extended.sq_sig_all = attr->sq_sig_all;
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd ? pd : id->pd;
    if (rdma_create_qp_ex(id, &extended) != 0) return -1;
    attr->send_cq = extended.send_cq;
    attr->recv_cq = extended.recv_cq;
    attr->srq = extended.srq;
    attr->cap = extended.cap;
    return 0;
}

void rdma_destroy_qp(rdma_cm_id* id) {
    CancellationDisabled no_cancellation;
    softverbs::detach_from_groups(Identifier::of(id));
    if (id->qp) ibv_destroy_qp(id->qp);
    id->qp = nullptr;
    softverbs::destroy_completion_queues(id);
}

int rdma_init_qp_attr(rdma_cm_id* handle, ibv_qp_attr* attr, int* mask) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        Identifier& id = Identifier::of(handle);
        support::MutexLock lock(id.engine->mutex);
        return softverbs::init_attributes(id, *attr, *mask);
    });
}

}  // extern "C"
