// SPDX-License-Identifier: BSD-2-Clause
// dat_ep_query and dat_ep_get_status: what an EP reports.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

DAT_EP_PARAM query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask = DAT_EP_FIELD_ALL) {
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, mask, &parameters), "dat_ep_query");
    return parameters;
}

int family(DAT_IA_ADDRESS_PTR address) {
    return address ? address->sa_family : -1;
}

DAT_EP_HANDLE bare(Rig& r) {
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(r.ia(), nullptr, nullptr, nullptr, nullptr, nullptr, &ep),
            "dat_ep_create");
    return ep;
}

void tell_defaults(Rig& r, const DAT_EP_ATTR& a) {
    r << static_cast<DAT_COUNT>(a.service_type) << static_cast<DAT_COUNT>(a.qos)
      << static_cast<DAT_COUNT>(a.recv_completion_flags)
      << static_cast<DAT_COUNT>(a.request_completion_flags) << a.max_recv_dtos << a.max_request_dtos
      << a.max_recv_iov << a.max_request_iov << a.max_rdma_read_in << a.max_rdma_read_out
      << a.srq_soft_hw << a.max_rdma_read_iov << a.max_rdma_write_iov
      << a.ep_transport_specific_count << a.ep_provider_specific_count;
}

Rows query_rows() {
    return {
        {"dat_ep_query/handles", "yes yes yes yes yes yes UNCONNECTED",
         [](Rig& r) {
             const Side& side = r.side();
             const DAT_EP_PARAM p = query(r.endpoint());
             r << (p.ia_handle == side.ia) << (p.pz_handle == side.pz)
               << (p.recv_evd_handle == side.receives) << (p.request_evd_handle == side.sends)
               << (p.connect_evd_handle == side.connections) << (p.srq_handle == nullptr)
               << p.ep_state;
         }},
        {"dat_ep_query/bare-handles", "yes yes yes yes",
         [](Rig& r) {
             const DAT_EP_PARAM p = query(bare(r));
             r << (p.pz_handle == nullptr) << (p.recv_evd_handle == nullptr)
               << (p.request_evd_handle == nullptr) << (p.connect_evd_handle == nullptr);
         }},
        {"dat_ep_query/default-attributes", "0 0 16 16 16 16 4 4 4 4 0 0 0 0 1",
         [](Rig& r) { tell_defaults(r, query(r.endpoint()).ep_attr); }},
        {"dat_ep_query/default-attributes-without-evds", "0 0 16 16 0 0 0 0 4 4 0 0 0 0 1",
         [](Rig& r) { tell_defaults(r, query(bare(r)).ep_attr); }},
        {"dat_ep_query/default-sizes-are-the-adapter's", "yes yes",
         [](Rig& r) {
             DAT_IA_ATTR adapter{};
             succeed(dat_ia_query(r.ia(), nullptr, DAT_IA_FIELD_ALL, &adapter, 0, nullptr),
                     "dat_ia_query");
             const DAT_EP_ATTR a = query(r.endpoint()).ep_attr;
             r << (a.max_message_size == adapter.max_message_size)
               << (a.max_rdma_size == adapter.max_rdma_size);
         }},
        {"dat_ep_query/addresses-before-a-connection", "2 0 0",
         [](Rig& r) {
             const DAT_EP_PARAM p = query(r.endpoint());
             r << family(p.local_ia_address_ptr) << family(p.remote_ia_address_ptr)
               << p.remote_port_qual;
         }},
        {"dat_ep_query/active-side-connected", "2 yes CONNECTED",
         [](Rig& r) {
             const DAT_EP_PARAM p = query(r.connected());
             r << family(p.remote_ia_address_ptr) << (p.remote_port_qual == kQualifier)
               << p.ep_state;
         }},
        {"dat_ep_query/passive-side-connected", "2 yes",
         [](Rig& r) {
             r.client({});
             r.side().listen(kQualifier);
             r.go();
             const DAT_EP_PARAM p = query(r.side().accept_next());
             r << family(p.remote_ia_address_ptr) << (p.local_port_qual == kQualifier);
         }},
        {"dat_ep_query/address-kept-after-the-connection", "2",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             query(ep);
             succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
             Side::wait(r.side().connections, DAT_CONNECTION_EVENT_DISCONNECTED);
             r << family(query(ep).remote_ia_address_ptr);
         }},
        {"dat_ep_query/mask-0-writes-nothing", "0 yes",
         [](Rig& r) {
             DAT_EP_PARAM p, untouched;
             memset(&p, 0xa5, sizeof p);
             memset(&untouched, 0xa5, sizeof untouched);
             r << dat_ep_query(r.endpoint(), 0, &p) << (memcmp(&p, &untouched, sizeof p) == 0);
         }},
        {"dat_ep_query/any-mask-writes-all", "yes 16",
         [](Rig& r) {
             const DAT_EP_PARAM p = query(r.endpoint(), DAT_EP_FIELD_EP_STATE);
             r << (p.pz_handle == r.side().pz) << p.ep_attr.max_recv_dtos;
         }},
        {"dat_ep_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_ep_query(r.endpoint(), DAT_EP_FIELD_ALL, nullptr); }},
    };
}

void tell_status(Rig& r, DAT_EP_HANDLE ep) {
    DAT_EP_STATE state{};
    DAT_BOOLEAN receives = DAT_FALSE;
    DAT_BOOLEAN requests = DAT_FALSE;
    r << dat_ep_get_status(ep, &state, &receives, &requests) << state
      << static_cast<DAT_COUNT>(receives) << static_cast<DAT_COUNT>(requests);
}

DAT_RETURN post_receive(DAT_EP_HANDLE ep) {
    return dat_ep_post_recv(ep, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
}
DAT_RETURN post_send(DAT_EP_HANDLE ep, DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) {
    return dat_ep_post_send(ep, 0, nullptr, cookie(2), flags);
}

/// A peer that posts `count` receives, sends 'p', consumes their completions and sends 't'.
Rig::ConnectedPeer receiver(int count) {
    return [count](Side& side, DAT_EP_HANDLE ep, Channel& channel) {
        for (int i = 0; i < count; ++i) succeed(post_receive(ep), "dat_ep_post_recv");
        channel.send('p');
        for (int i = 0; i < count; ++i) Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
        channel.send('t');
    };
}

Rows status_rows() {
    return {
        {"dat_ep_get_status/idle", "0 UNCONNECTED 0 0",
         [](Rig& r) { tell_status(r, r.endpoint()); }},
        {"dat_ep_get_status/all-out-null", "0",
         [](Rig& r) { r << dat_ep_get_status(r.endpoint(), nullptr, nullptr, nullptr); }},
        {"dat_ep_get_status/posted-receives-count", "0 UNCONNECTED 2 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             for (int i = 0; i < 2; ++i) succeed(post_receive(ep), "dat_ep_post_recv");
             tell_status(r, ep);
         }},
        {"dat_ep_get_status/request-counts-until-taken", "0 CONNECTED 0 1 DTO 0 CONNECTED 0 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(receiver(1));
             r.channel().receive<char>();
             succeed(post_send(ep), "dat_ep_post_send");
             r.channel().receive<char>();
             tell_status(r, ep);
             r.event(r.side().sends);
             tell_status(r, ep);
         }},
        {"dat_ep_get_status/suppressed-requests-count-until-reclaimed",
         "0 CONNECTED 0 1 DTO 0 CONNECTED 0 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected(receiver(2));
             r.channel().receive<char>();
             succeed(post_send(ep, DAT_COMPLETION_SUPPRESS_FLAG), "dat_ep_post_send");
             tell_status(r, ep);
             succeed(post_send(ep), "dat_ep_post_send");
             r.channel().receive<char>();
             r.event(r.side().sends);
             tell_status(r, ep);
         }},
    };
}

}  // namespace

Rows ep_query_rows() {
    Rows rows = query_rows();
    for (Row& row : status_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace conformance
