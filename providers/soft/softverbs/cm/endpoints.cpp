// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The synchronous mode, in which identifiers have no channel and their calls wait for the event,
/// and the calls built on it.
#include <rdma/rdma_verbs.h>
#include <sys/socket.h>

#include "providers/soft/softverbs/cm/engine.hpp"

namespace softverbs {
namespace {

int error_of(const rdma_cm_event& event) {
    if (event.status == 0) return 0;
    if (event.event == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
    return event.status < 0 ? -event.status : event.status;
}

/// Waits for a request. The child becomes synchronous too: it moves to a channel of its own.
int take_request(Identifier& listener, rdma_cm_id** result) {
    if (!listener.is_synchronous) return EINVAL;
    forget_event(listener);
    rdma_cm_event* event = nullptr;
    if (const int error = get_event(listener.channel(), &event)) return error;
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST || event->status != 0) {
        const int error = error_of(*event);
        rdma_ack_cm_event(event);
        return error ? error : EINVAL;
    }
    Identifier& child = Identifier::of(event->id);
    listener.public_part.event = event;
    if (rdma_migrate_id(child.handle(), nullptr) != 0) return errno;
    if (child.child_qp) {
        ibv_qp_init_attr attr = *child.child_qp;
        attr.qp_type = child.public_part.qp_type;
        if (rdma_create_qp(child.handle(), child.child_pd, &attr) != 0) {
            const int error = errno;
            rdma_destroy_id(child.handle());
            return error;
        }
    }
    // Applications read the request's private data from the child's event.
    child.public_part.event = event;
    listener.public_part.event = nullptr;
    *result = child.handle();
    return 0;
}

/// Whether the type is XRC, which rdma_cm does not connect here. Checked before anything is
/// resolved.
bool is_extended_reliable(int type) {
    return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

int make_endpoint(rdma_cm_id* id, const rdma_addrinfo& wish, ibv_pd* pd, ibv_qp_init_attr* attr) {
    constexpr int kResolveTimeout = 2000;
    Identifier& identifier = Identifier::of(id);
    if (wish.ai_flags & RAI_PASSIVE) {
        if (attr) identifier.child_qp = *attr;
        identifier.child_pd = pd;
        return rdma_bind_addr(id, wish.ai_src_addr) == 0 ? 0 : errno;
    }
    if (rdma_resolve_addr(id, wish.ai_src_addr, wish.ai_dst_addr, kResolveTimeout) != 0 ||
        rdma_resolve_route(id, kResolveTimeout) != 0)
        return errno;
    if (attr) {
        attr->qp_type = static_cast<ibv_qp_type>(wish.ai_qp_type);
        if (rdma_create_qp(id, pd, attr) != 0) return errno;
    }
    return 0;
}

}  // namespace

void forget_event(Identifier& id) {
    if (!id.public_part.event) return;
    rdma_ack_cm_event(id.public_part.event);
    id.public_part.event = nullptr;
}

int complete(Identifier& id) {
    if (!id.is_synchronous) return 0;
    if (const int error = get_event(id.channel(), &id.public_part.event)) return error;
    return error_of(*id.public_part.event);
}

}  // namespace softverbs

using softverbs::guarded;
using softverbs::Identifier;

extern "C" {

int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
    return guarded([&] { return softverbs::take_request(Identifier::of(listener), id); });
}

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* wish, ibv_pd* pd, ibv_qp_init_attr* attr) {
    return guarded([&] {
        if (!id || !wish) return EINVAL;
        if (softverbs::is_extended_reliable(wish->ai_qp_type)) return EOPNOTSUPP;
        rdma_cm_id* made = nullptr;
        if (rdma_create_id(nullptr, &made, nullptr,
                           static_cast<rdma_port_space>(wish->ai_port_space)))
            return errno;
        made->qp_type = static_cast<ibv_qp_type>(wish->ai_qp_type);
        const int error = softverbs::make_endpoint(made, *wish, pd, attr);
        if (error)
            rdma_destroy_ep(made);
        else
            *id = made;
        return error;
    });
}

void rdma_destroy_ep(rdma_cm_id* id) {
    rdma_destroy_qp(id);
    rdma_destroy_srq(id);
    rdma_destroy_id(id);
}

}  // extern "C"
