// SPDX-License-Identifier: BSD-2-Clause
// Connecting: dat_ep_connect, dat_ep_dup_connect, dat_ep_common_connect.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

DAT_EP_HANDLE incomplete(Rig& r, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE receives, DAT_EVD_HANDLE sends,
                         DAT_EVD_HANDLE connections) {
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(r.ia(), pz, receives, sends, connections, nullptr, &ep), "dat_ep_create");
    return ep;
}

const char data[512] = {1, 2, 3};

/// Writes the next connection event, the size of its private data, and the EP's state.
void tell_end(Rig& r, DAT_EP_HANDLE ep) {
    r << r.event(r.side().connections).event_data.connect_event_data.private_data_size;
    r.state(ep);
}

Rows connect_rows() {
    return {
        {"dat_ep_connect/accepted", "0 ESTABLISHED ESTABLISHED CONNECTED",
         [](Rig& r) {
             r.listener([](Side& side, Channel& channel) {
                 const DAT_CR_HANDLE cr = side.request();
                 succeed(dat_cr_accept(cr, side.endpoint(), 0, nullptr), "dat_cr_accept");
                 tell_event(channel, side.connections);
             });
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep);
             r.event(r.side().connections);
             r.peer_tells();
             r.state(ep);
         }},
        {"dat_ep_connect/address-null", "0x80060026",
         [](Rig& r) {
             r << dat_ep_connect(r.endpoint(), nullptr, kQualifier, 1, 0, nullptr,
                                 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
         }},
        {"dat_ep_connect/address-null-before-handle", "0x80060026",
         [](Rig& r) {
             r << dat_ep_connect(r.other_kind(), nullptr, kQualifier, 1, 0, nullptr,
                                 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
         }},
        {"dat_ep_connect/no-connect-evd", "0x80050017",
         [](Rig& r) {
             Side& side = r.side();
             r << connect(incomplete(r, side.pz, side.receives, side.sends, DAT_HANDLE_NULL));
         }},
        {"dat_ep_connect/timeout-0", "0x80060028",
         [](Rig& r) { r << connect(r.endpoint(), {.timeout = 0}); }},
        {"dat_ep_connect/no-pz", "0x80070039",
         [](Rig& r) {
             Side& side = r.side();
             r << connect(
                 incomplete(r, DAT_HANDLE_NULL, side.receives, side.sends, side.connections));
         }},
        {"dat_ep_connect/timeout-0-before-no-pz", "0x80060028",
         [](Rig& r) {
             Side& side = r.side();
             r << connect(
                 incomplete(r, DAT_HANDLE_NULL, side.receives, side.sends, side.connections),
                 {.timeout = 0});
         }},
        {"dat_ep_connect/no-request-evd", "0 ESTABLISHED 196 CONNECTED",
         [](Rig& r) {
             r.listener([](Side& side, Channel&) { side.accept_next(); });
             Side& side = r.side();
             const DAT_EP_HANDLE ep =
                 incomplete(r, side.pz, side.receives, DAT_HANDLE_NULL, side.connections);
             r << connect(ep);
             tell_end(r, ep);
         }},
        {"dat_ep_connect/quality-of-service", "0x80090000 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.quality = DAT_QOS_HIGH_THROUGHPUT});
             r.state(ep);
         }},
        {"dat_ep_connect/multipath", "0x80090000 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.flags = DAT_CONNECT_MULTIPATH_FLAG});
             r.state(ep);
         }},
        {"dat_ep_connect/no-listener", "0 NON_PEER_REJECTED 148 DISCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep);
             tell_end(r, ep);
         }},
        {"dat_ep_connect/foreign-address", "0 UNREACHABLE 0 DISCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.address = "192.0.2.1"});
             tell_end(r, ep);
         }},
        {"dat_ep_connect/rejected", "0 PEER_REJECTED 148 DISCONNECTED",
         [](Rig& r) {
             r.listener([](Side& side, Channel&) {
                 succeed(dat_cr_reject(side.request(), 0, nullptr), "dat_cr_reject");
             });
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep);
             tell_end(r, ep);
         }},
        {"dat_ep_connect/timed-out", "0 TIMED_OUT 0 DISCONNECTED",
         [](Rig& r) {
             r.listener();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.timeout = 50000});
             tell_end(r, ep);
         }},
        {"dat_ep_connect/pending-state", "0 ACTIVE_PENDING",
         [](Rig& r) {
             r.listener();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep);
             r.state(ep);
         }},
        {"dat_ep_connect/private-data-0", "ESTABLISHED 56",
         [](Rig& r) {
             r.client({},
                      [](Side& side, Channel& channel) { tell_event(channel, side.connections); });
             r.side().listen(kQualifier);
             r.go();
             const DAT_CR_HANDLE cr = r.side().request();
             DAT_CR_PARAM parameters{};
             succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
             succeed(dat_cr_accept(cr, r.endpoint(), 0, nullptr), "dat_cr_accept");
             r.peer_tells();
             r << parameters.private_data_size;
         }},
        {"dat_ep_connect/private-data-56", "56 same",
         [](Rig& r) {
             static char pattern[56];
             for (unsigned i = 0; i < sizeof pattern; ++i) pattern[i] = static_cast<char>(i + 1);
             r.client({.size = 56, .data = pattern});
             r.side().listen(kQualifier);
             r.go();
             DAT_CR_PARAM parameters{};
             succeed(dat_cr_query(r.side().request(), DAT_CR_FIELD_ALL, &parameters),
                     "dat_cr_query");
             r << parameters.private_data_size
               << (memcmp(parameters.private_data, pattern, 56) == 0 ? "same" : "other");
         }},
        {"dat_ep_connect/private-data-57", "0x80060029 UNCONNECTED",
         [](Rig& r) {
             r.listener();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.size = 57, .data = data});
             r.state(ep);
         },
         "it writes what it does not check beyond a buffer"},
        {"dat_ep_connect/private-data-negative", "0x80060029 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.size = -1, .data = data});
             r.state(ep);
         },
         "it copies that many bytes"},
        {"dat_ep_connect/private-data-null", "0x8006002A UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect(ep, {.size = 8, .data = nullptr});
             r.state(ep);
         }},
    };
}

DAT_RETURN duplicate(DAT_EP_HANDLE ep, DAT_EP_HANDLE of, DAT_TIMEOUT timeout = 1000000) {
    return dat_ep_dup_connect(ep, of, timeout, 0, nullptr, DAT_QOS_BEST_EFFORT);
}

Rows duplicate_rows() {
    return {
        {"dat_ep_dup_connect/accepted", "0 ESTABLISHED CONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE first =
                 r.connected([](Side& side, DAT_EP_HANDLE, Channel&) { side.accept_next(); });
             const DAT_EP_HANDLE ep = r.endpoint();
             r << duplicate(ep, first, DAT_TIMEOUT_INFINITE);
             r.event(r.side().connections);
             r.state(ep);
         }},
        {"dat_ep_dup_connect/other-endpoint-null", "0x8005000C",
         [](Rig& r) { r << duplicate(r.endpoint(), DAT_HANDLE_NULL); }},
        {"dat_ep_dup_connect/other-endpoint-of-another-kind", "0x8005000C",
         [](Rig& r) { r << duplicate(r.endpoint(), r.other_kind()); }},
        {"dat_ep_dup_connect/timeout-0", "0x80060027",
         [](Rig& r) {
             const DAT_EP_HANDLE first = r.connected();
             r << duplicate(r.endpoint(), first, 0);
         }},
        {"dat_ep_dup_connect/other-endpoint-unconnected", "0x8007002F",
         [](Rig& r) {
             const DAT_EP_HANDLE first = r.endpoint();
             r << duplicate(r.endpoint(), first);
         }},
        {"dat_ep_dup_connect/other-endpoint-disconnected", "NON_PEER_REJECTED 0x80070034",
         [](Rig& r) {
             const DAT_EP_HANDLE first = r.endpoint();
             succeed(connect(first), "dat_ep_connect");
             r.event(r.side().connections);
             r << duplicate(r.endpoint(), first);
         }},
        {"dat_ep_dup_connect/state-connected", "0x80070033",
         [](Rig& r) {
             const DAT_EP_HANDLE first = r.connected();
             r << duplicate(first, first);
         }},
        {"dat_ep_dup_connect/quality-of-service", "0x80090000",
         [](Rig& r) {
             const DAT_EP_HANDLE first = r.connected();
             r << dat_ep_dup_connect(r.endpoint(), first, 1000, 0, nullptr,
                                     DAT_QOS_HIGH_THROUGHPUT);
         }},
    };
}

}  // namespace

Rows ep_connect_rows() {
    Rows rows = connect_rows();
    for (Row& row : duplicate_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace conformance
