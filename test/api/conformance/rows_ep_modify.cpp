// SPDX-License-Identifier: BSD-2-Clause
// dat_ep_modify: which members may be changed, in which states, to what.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

constexpr const char* kUnusable = "the endpoint crashes the process at its next use";

using Change = std::function<void(Rig&, DAT_EP_PARAM&)>;
using Reach = std::function<DAT_EP_HANDLE(Rig&)>;

DAT_EP_HANDLE unconnected(Rig& r) {
    return r.endpoint();
}

Row modify(
    const std::string& name, const char* answer, DAT_EP_PARAM_MASK mask,
    const Change& change = [](Rig&, DAT_EP_PARAM&) {}, const Reach& reach = unconnected,
    const std::string& not_asked = {}) {
    return {"dat_ep_modify/" + name, answer,
            [mask, change, reach](Rig& r) {
                const DAT_EP_HANDLE ep = reach(r);
                DAT_EP_PARAM parameters{};
                succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
                change(r, parameters);
                r << dat_ep_modify(ep, mask, &parameters);
            },
            not_asked};
}

void nothing(Rig&, DAT_EP_PARAM&) {}

Rows mask_rows() {
    return {
        modify("nothing", "0", 0),
        modify("ia-handle", "0x80060026", DAT_EP_FIELD_IA_HANDLE),
        modify("state", "0x80060026", DAT_EP_FIELD_EP_STATE),
        modify("local-address", "0x80060026", DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR),
        modify("local-port", "0x80060026", DAT_EP_FIELD_LOCAL_PORT_QUAL),
        modify("remote-address", "0x80060026", DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR),
        modify("remote-port", "0x80060026", DAT_EP_FIELD_REMOTE_PORT_QUAL),
        modify("pz-same", "0", DAT_EP_FIELD_PZ_HANDLE, nothing, unconnected, kUnusable),
        modify(
            "pz-of-another-kind", "0x80060027", DAT_EP_FIELD_PZ_HANDLE,
            [](Rig& r, DAT_EP_PARAM& p) { p.pz_handle = r.side().sends; }, unconnected, kUnusable),
        modify(
            "receive-evd-of-another-kind", "0x80060027", DAT_EP_FIELD_RECV_EVD_HANDLE,
            [](Rig& r, DAT_EP_PARAM& p) { p.recv_evd_handle = r.side().pz; }, unconnected,
            "it crashes in the call"),
        modify(
            "request-evd-of-another-kind", "0x80060027", DAT_EP_FIELD_REQUEST_EVD_HANDLE,
            [](Rig& r, DAT_EP_PARAM& p) { p.request_evd_handle = r.side().pz; }, unconnected,
            kUnusable),
        modify(
            "connect-evd-of-another-kind", "0x80060027", DAT_EP_FIELD_CONNECT_EVD_HANDLE,
            [](Rig& r, DAT_EP_PARAM& p) { p.connect_evd_handle = r.side().pz; }, unconnected,
            kUnusable),
        modify("service-type", "0x80060027", DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE,
               [](Rig&, DAT_EP_PARAM& p) {
                   p.ep_attr.service_type = static_cast<DAT_SERVICE_TYPE>(9);
               }),
        modify("message-size-above-the-adapter", "0x80060027",
               DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
               [](Rig&, DAT_EP_PARAM& p) { p.ep_attr.max_message_size = 0xffffffffu; }),
        modify("receive-dtos-above-the-adapter", "0x80060027", DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
               [](Rig&, DAT_EP_PARAM& p) { p.ep_attr.max_recv_dtos = 1 << 30; }),
        modify("request-dtos-above-the-adapter", "0x80060027",
               DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
               [](Rig&, DAT_EP_PARAM& p) { p.ep_attr.max_request_dtos = 1 << 30; }),
        modify(
            "receive-flags-suppress", "0x00060000", DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
            [](Rig&, DAT_EP_PARAM& p) {
                p.ep_attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
            },
            unconnected, kUnusable),
        modify(
            "quality-of-service", "0", DAT_EP_FIELD_EP_ATTR_QOS,
            [](Rig&, DAT_EP_PARAM& p) { p.ep_attr.qos = DAT_QOS_HIGH_THROUGHPUT; }, unconnected,
            kUnusable),
        modify(
            "rdma-size-of-any-value", "0", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE,
            [](Rig&, DAT_EP_PARAM& p) { p.ep_attr.max_rdma_size = 1; }, unconnected, kUnusable),
        modify("unknown-bits", "0", UINT64_C(1) << 40, nothing, unconnected, kUnusable),
    };
}

Rows state_rows() {
    const DAT_EP_PARAM_MASK pz = DAT_EP_FIELD_PZ_HANDLE;
    const DAT_EP_PARAM_MASK dtos = DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS;
    return {
        modify("state-reserved-pz", "0x80070035", pz, nothing, reserved),
        modify("state-reserved-attributes", "0", dtos, nothing, reserved, kUnusable),
        modify("state-passive-pending-pz", "0x80070031", pz, nothing, passive_pending),
        modify("state-passive-pending-attributes", "0x80070031", dtos, nothing, passive_pending),
        modify("state-active-pending-pz", "0x80070030", pz, nothing, active_pending),
        modify("state-active-pending-attributes", "0x80070030", dtos, nothing, active_pending),
        modify("state-connected-pz", "0x80070033", pz, nothing, connected),
        modify("state-connected-evd", "0x80070033", DAT_EP_FIELD_RECV_EVD_HANDLE, nothing,
               connected),
        modify("state-connected-attributes", "0x80070033", dtos, nothing, connected),
        modify("state-disconnected-pz", "0x80070034", pz, nothing, disconnected),
        modify("state-disconnected-attributes", "0x80070034", dtos, nothing, disconnected),
    };
}

Rows effect_rows() {
    return {
        {"dat_ep_modify/receive-dtos-count-from-then-on", "0 0 0 0x80030002",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             DAT_EP_PARAM p{};
             succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p), "dat_ep_query");
             p.ep_attr.max_recv_dtos = 2;
             r << dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p);
             for (int i = 0; i < 3; ++i)
                 r << dat_ep_post_recv(ep, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
         },
         kUnusable},
        {"dat_ep_modify/evd-lets-go-of-the-old-one", "0 0 0x8007004A",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             const Side& side = r.side();
             DAT_EP_PARAM p{};
             succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p), "dat_ep_query");
             p.recv_evd_handle = r.evd(DAT_EVD_DTO_FLAG);
             r << dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &p) << dat_evd_free(side.receives)
               << dat_evd_free(p.recv_evd_handle);
         },
         kUnusable},
        {"dat_ep_modify/connects-afterwards", "0 ESTABLISHED CONNECTED",
         [](Rig& r) {
             r.listener([](Side& side, Channel&) { side.accept_next(); });
             const DAT_EP_HANDLE ep = r.endpoint();
             DAT_EP_PARAM p{};
             succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p), "dat_ep_query");
             p.ep_attr.max_request_dtos = 4;
             r << dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p);
             succeed(connect(ep), "dat_ep_connect");
             r.event(r.side().connections);
             r.state(ep);
         },
         kUnusable},
    };
}

}  // namespace

Rows ep_modify_rows() {
    Rows rows = mask_rows();
    for (const Rows& more : {state_rows(), effect_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
