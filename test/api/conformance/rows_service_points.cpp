// SPDX-License-Identifier: BSD-2-Clause
// Listening: dat_psp_*, dat_rsp_*, dat_csp_*, and dat_ep_common_connect, which connects to a CSP.
#include <arpa/inet.h>

#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

DAT_PSP_HANDLE psp;
DAT_RSP_HANDLE rsp;

DAT_RETURN listen(Rig& r, DAT_CONN_QUAL qualifier = kQualifier, int flags = DAT_PSP_CONSUMER_FLAG) {
    return dat_psp_create(r.ia(), qualifier, r.side().requests, static_cast<DAT_PSP_FLAGS>(flags),
                          &psp);
}
DAT_RETURN listen_any(Rig& r, DAT_CONN_QUAL* qualifier, int flags = DAT_PSP_CONSUMER_FLAG) {
    return dat_psp_create_any(r.ia(), qualifier, r.side().requests,
                              static_cast<DAT_PSP_FLAGS>(flags), &psp);
}
DAT_RETURN reserve_with(Rig& r, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, DAT_RSP_HANDLE* out = &rsp) {
    return dat_rsp_create(r.ia(), kQualifier, ep, evd, out);
}

Row on_evd(const char* name, const char* answer, std::function<DAT_EVD_HANDLE(Rig&)> evd) {
    return {std::string("dat_psp_create/") + name, answer, [evd](Rig& r) {
                r << dat_psp_create(r.ia(), kQualifier, evd(r), DAT_PSP_CONSUMER_FLAG, &psp);
            }};
}

Rows psp_create_rows() {
    return {
        {"dat_psp_create/raises-requests", "0 CONNECTION_REQUEST yes 4711 2 yes",
         [](Rig& r) {
             r.client({});
             r << listen(r);
             r.go();
             const auto data = r.event(r.side().requests).event_data.cr_arrival_event_data;
             r << (data.sp_handle.psp_handle == psp) << data.conn_qual
               << static_cast<DAT_COUNT>(data.local_ia_address_ptr->sa_family)
               << (data.cr_handle != nullptr);
         }},
        {"dat_psp_create/truncate-flag", "no",
         [](Rig& r) {
             r.client({});
             succeed(listen(r), "dat_psp_create");
             r.go();
             const DAT_EVENT event = Side::wait(r.side().requests, DAT_CONNECTION_REQUEST_EVENT);
             r << (event.event_data.cr_arrival_event_data.truncate_flag != DAT_FALSE);
         },
         "it never writes the member"},
        on_evd("evd-null", "0x80050014", [](Rig&) -> DAT_EVD_HANDLE { return nullptr; }),
        on_evd("evd-of-another-kind", "0x80050014", [](Rig& r) { return r.other_kind(); }),
        on_evd("evd-without-the-flag", "0x80050014", [](Rig& r) { return r.side().connections; }),
        on_evd("evd-with-further-flags", "0",
               [](Rig& r) { return r.evd(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG); }),
        on_evd("evd-of-another-adapter", "0x80050014",
               [](Rig& r) {
                   r.side();
                   return (new Side)->requests;
               }),
        {"dat_psp_create/out-null", "0x80060029",
         [](Rig& r) {
             r << dat_psp_create(r.ia(), kQualifier, r.side().requests, DAT_PSP_CONSUMER_FLAG,
                                 nullptr);
         }},
        {"dat_psp_create/unknown-flag", "0x80060028",
         [](Rig& r) { r << listen(r, kQualifier, 2); }},
        {"dat_psp_create/out-null-before-unknown-flag", "0x80060029",
         [](Rig& r) {
             r << dat_psp_create(r.ia(), kQualifier, r.side().requests,
                                 static_cast<DAT_PSP_FLAGS>(2), nullptr);
         }},
        {"dat_psp_create/qualifier-of-a-psp-of-this-adapter", "0 0x80020000",
         [](Rig& r) { r << listen(r) << listen(r); }},
        {"dat_psp_create/qualifier-of-an-rsp", "0x00020000",
         [](Rig& r) {
             reserved(r);
             r << listen(r);
         }},
        {"dat_psp_create/qualifier-of-another-adapter-of-the-process", "0 0x00020000",
         [](Rig& r) {
             r << listen(r);
             const Side& other = *new Side;
             r << dat_psp_create(other.ia, kQualifier, other.requests, DAT_PSP_CONSUMER_FLAG, &psp);
         }},
        {"dat_psp_create/qualifier-of-another-process", "0x00020000",
         [](Rig& r) {
             r.listener();
             r << listen(r);
         }},
        {"dat_psp_create/qualifier-0", "0", [](Rig& r) { r << listen(r, 0); }},
        {"dat_psp_create/qualifier-70000", "0", [](Rig& r) { r << listen(r, 70000); }},
        {"dat_psp_create/qualifier-of-48-bits", "0",
         [](Rig& r) { r << listen(r, 0xffffffffffffU); }},
        {"dat_psp_create/provider-flag", "0 CONNECTION_REQUEST yes UNCONFIGURED_TENTATIVE",
         [](Rig& r) {
             r.client({});
             r << listen(r, kQualifier, DAT_PSP_PROVIDER_FLAG);
             r.go();
             const DAT_CR_HANDLE cr =
                 r.event(r.side().requests).event_data.cr_arrival_event_data.cr_handle;
             DAT_CR_PARAM p{};
             succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p), "dat_cr_query");
             r << (p.local_ep_handle != nullptr);
             r.state(p.local_ep_handle);
         }},
        {"dat_psp_create/provider-flag-is-served", "0 0 ESTABLISHED ESTABLISHED CONNECTED",
         [](Rig& r) {
             r.client({},
                      [](Side& side, Channel& channel) { tell_event(channel, side.connections); });
             succeed(listen(r, kQualifier, DAT_PSP_PROVIDER_FLAG), "dat_psp_create");
             r.go();
             const Side& side = r.side();
             const DAT_CR_HANDLE cr = side.request();
             DAT_CR_PARAM request{};
             succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
             const DAT_EP_HANDLE ep = request.local_ep_handle;
             DAT_EP_PARAM p{};
             p.pz_handle = side.pz;
             p.recv_evd_handle = side.receives;
             p.request_evd_handle = side.sends;
             p.connect_evd_handle = side.connections;
             r << dat_ep_modify(ep,
                                DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                                    DAT_EP_FIELD_REQUEST_EVD_HANDLE |
                                    DAT_EP_FIELD_CONNECT_EVD_HANDLE,
                                &p)
               << dat_cr_accept(cr, DAT_HANDLE_NULL, 0, nullptr);
             r.event(side.connections);
             r.peer_tells();
             r.state(ep);
         },
         "ep_modify crashes on such an EP"},
    };
}

Rows psp_rows_besides_create() {
    return {
        {"dat_psp_create_any/numbers-move-up", "0 1024 0 1025 0 0 1026",
         [](Rig& r) {
             for (int i = 0; i < 3; ++i) {
                 DAT_CONN_QUAL qualifier = 0;
                 if (i == 2) r << dat_psp_free(psp);
                 r << listen_any(r, &qualifier) << qualifier;
             }
         }},
        {"dat_psp_create_any/raises-requests", "CONNECTION_REQUEST yes",
         [](Rig& r) {
             r.client({.qualifier = 1024});
             DAT_CONN_QUAL qualifier = 0;
             succeed(listen_any(r, &qualifier), "dat_psp_create_any");
             r.go();
             r << (r.event(r.side().requests).event_data.cr_arrival_event_data.conn_qual ==
                   qualifier);
         }},
        {"dat_psp_create_any/goes-on-past-one-in-use", "0 0 1025",
         [](Rig& r) {
             DAT_CONN_QUAL qualifier = 0;
             r << listen(r, 1024) << listen_any(r, &qualifier) << qualifier;
         }},
        {"dat_psp_create_any/qualifier-null", "0x80060026",
         [](Rig& r) { r << listen_any(r, nullptr); }},
        {"dat_psp_create_any/out-null", "0x80060029",
         [](Rig& r) {
             DAT_CONN_QUAL qualifier = 0;
             r << dat_psp_create_any(r.ia(), &qualifier, r.side().requests, DAT_PSP_CONSUMER_FLAG,
                                     nullptr);
         }},
        {"dat_psp_create_any/unknown-flag", "0x80060028",
         [](Rig& r) {
             DAT_CONN_QUAL qualifier = 0;
             r << listen_any(r, &qualifier, 2);
         }},
        {"dat_psp_create_any/evd-null", "0x80050014",
         [](Rig& r) {
             DAT_CONN_QUAL qualifier = 0;
             r << dat_psp_create_any(r.ia(), &qualifier, nullptr, DAT_PSP_CONSUMER_FLAG, &psp);
         }},
        {"dat_psp_query/all", "0 yes 4711 yes 0",
         [](Rig& r) {
             succeed(listen(r), "dat_psp_create");
             DAT_PSP_PARAM p{};
             r << dat_psp_query(psp, DAT_PSP_FIELD_ALL, &p) << (p.ia_handle == r.ia())
               << p.conn_qual << (p.evd_handle == r.side().requests)
               << static_cast<DAT_COUNT>(p.psp_flags);
         }},
        {"dat_psp_query/out-null", "0x80060027",
         [](Rig& r) {
             succeed(listen(r), "dat_psp_create");
             r << dat_psp_query(psp, DAT_PSP_FIELD_ALL, nullptr);
         }},
        {"dat_psp_query/freed-with-a-request-left", "0 0x80050010",
         [](Rig& r) {
             r.client({});
             succeed(listen(r), "dat_psp_create");
             r.go();
             r.side().request();
             DAT_PSP_PARAM p{};
             r << dat_psp_free(psp) << dat_psp_query(psp, DAT_PSP_FIELD_ALL, &p);
         }},
        {"dat_psp_free/qualifier-is-free-again", "0 0",
         [](Rig& r) {
             succeed(listen(r), "dat_psp_create");
             r << dat_psp_free(psp) << listen(r);
         }},
        {"dat_psp_free/no-more-requests", "0 NON_PEER_REJECTED",
         [](Rig& r) {
             r.client({},
                      [](Side& side, Channel& channel) { tell_event(channel, side.connections); });
             succeed(listen(r), "dat_psp_create");
             r << dat_psp_free(psp);
             r.go();
             r.peer_tells();
         }},
        {"dat_psp_free/requests-left-can-be-accepted", "0 0 ESTABLISHED ESTABLISHED",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = [&] {
                 r.client({}, [](Side& side, Channel& channel) {
                     tell_event(channel, side.connections);
                 });
                 succeed(listen(r), "dat_psp_create");
                 r.go();
                 return r.side().request();
             }();
             r << dat_psp_free(psp) << dat_cr_accept(cr, r.endpoint(), 0, nullptr);
             r.event(r.side().connections);
             r.peer_tells();
         }},
        {"dat_psp_free/lets-go-of-its-evd", "0x8007004A 0 0",
         [](Rig& r) {
             succeed(listen(r), "dat_psp_create");
             r << dat_evd_free(r.side().requests) << dat_psp_free(psp)
               << dat_evd_free(r.side().requests);
         }},
    };
}

Rows rsp_rows_only() {
    return {
        {"dat_rsp_create/reserves-its-endpoint", "0 RESERVED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << reserve_with(r, ep, r.side().requests);
             r.state(ep);
         }},
        {"dat_rsp_create/request", "CONNECTION_REQUEST yes 4711 yes PASSIVE_PENDING",
         [](Rig& r) {
             r.client({});
             const DAT_EP_HANDLE ep = r.endpoint();
             succeed(reserve_with(r, ep, r.side().requests), "dat_rsp_create");
             r.go();
             const auto data = r.event(r.side().requests).event_data.cr_arrival_event_data;
             DAT_CR_PARAM p{};
             succeed(dat_cr_query(data.cr_handle, DAT_CR_FIELD_ALL, &p), "dat_cr_query");
             r << (data.sp_handle.rsp_handle == rsp) << data.conn_qual << (p.local_ep_handle == ep);
             r.state(ep);
         }},
        {"dat_rsp_create/accepted-without-naming-the-endpoint", "0 ESTABLISHED CONNECTED",
         [](Rig& r) {
             r.client({});
             const DAT_EP_HANDLE ep = reserved(r);
             r.go();
             r << dat_cr_accept(r.side().request(), DAT_HANDLE_NULL, 0, nullptr);
             r.event(r.side().connections);
             r.state(ep);
         }},
        {"dat_rsp_create/accepted-with-its-endpoint", "0 ESTABLISHED",
         [](Rig& r) {
             r.client({});
             const DAT_EP_HANDLE ep = reserved(r);
             r.go();
             const DAT_RETURN code = dat_cr_accept(r.side().request(), ep, 0, nullptr);
             r << code;
             if (code == DAT_SUCCESS) r.event(r.side().connections);
         }},
        {"dat_rsp_create/takes-one-request", "PEER_REJECTED",
         [](Rig& r) {
             r.client({}, [](Side& side, Channel& channel) {
                 channel.receive<char>();
                 succeed(connect(side.endpoint()), "dat_ep_connect");
                 tell_event(channel, side.connections);
             });
             reserved(r);
             r.go();
             r.side().request();
             r.go();
             r.peer_tells();
         }},
        {"dat_rsp_create/endpoint-null", "0x8005000C",
         [](Rig& r) { r << reserve_with(r, nullptr, r.side().requests); }},
        {"dat_rsp_create/endpoint-of-another-kind", "0x8005000C",
         [](Rig& r) { r << reserve_with(r, r.other_kind(), r.side().requests); }},
        {"dat_rsp_create/evd-null", "0x80050014",
         [](Rig& r) { r << reserve_with(r, r.endpoint(), nullptr); }},
        {"dat_rsp_create/evd-of-another-kind", "0x80050014",
         [](Rig& r) { r << reserve_with(r, r.endpoint(), r.other_kind()); }},
        {"dat_rsp_create/evd-without-the-flag", "0x80050014",
         [](Rig& r) { r << reserve_with(r, r.endpoint(), r.side().sends); }},
        {"dat_rsp_create/out-null", "0x80060029",
         [](Rig& r) { r << reserve_with(r, r.endpoint(), r.side().requests, nullptr); }},
        {"dat_rsp_create/qualifier-of-an-rsp", "0 0x80020000 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE second = r.endpoint();
             r << reserve_with(r, r.endpoint(), r.side().requests)
               << reserve_with(r, second, r.side().requests);
             r.state(second);
         }},
        {"dat_rsp_create/qualifier-of-a-psp", "0 0x00020000 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << listen(r) << reserve_with(r, ep, r.side().requests);
             r.state(ep);
         }},
        {"dat_rsp_query/all", "0 yes 4711 yes yes",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             DAT_RSP_PARAM p{};
             r << dat_rsp_query(reserve(r, ep), DAT_RSP_FIELD_ALL, &p) << (p.ia_handle == r.ia())
               << p.conn_qual << (p.evd_handle == r.side().requests) << (p.ep_handle == ep);
         }},
        {"dat_rsp_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_rsp_query(reserve(r, r.endpoint()), DAT_RSP_FIELD_ALL, nullptr); }},
        {"dat_rsp_free/lets-go-of-its-endpoint", "0 UNCONNECTED",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.endpoint();
             r << dat_rsp_free(reserve(r, ep));
             r.state(ep);
         }},
        {"dat_rsp_free/after-its-connection", "ESTABLISHED 0 CONNECTED",
         [](Rig& r) {
             r.client({});
             const DAT_EP_HANDLE ep = r.endpoint();
             const DAT_RSP_HANDLE point = reserve(r, ep);
             r.go();
             succeed(dat_cr_accept(r.side().request(), nullptr, 0, nullptr), "dat_cr_accept");
             r.event(r.side().connections);
             r << dat_rsp_free(point);
             r.state(ep);
         }},
    };
}

DAT_CSP_HANDLE csp;

/// The arguments of dat_csp_create() that rows change one by one.
struct Csp {
    DAT_COMM communicator{AF_INET, SOCK_STREAM, 0};
    int family = AF_INET;
    const char* address = test::ia_address_text();
    std::uint16_t port = 4711;
    bool has_evd = true;

    DAT_RETURN operator()(Rig& r) {
        sockaddr_in own{};
        own.sin_family = static_cast<sa_family_t>(family);
        own.sin_port = htons(port);
        inet_pton(AF_INET, address, &own.sin_addr);
        return EXPORTED(dat_csp_create)(r.ia(), &communicator,
                                        reinterpret_cast<DAT_IA_ADDRESS_PTR>(&own),
                                        has_evd ? r.side().requests : nullptr, &csp);
    }
};
DAT_RETURN listen_in_common(Rig& r, Csp arguments = {}) {
    return arguments(r);
}

DAT_RETURN connect_in_common(DAT_EP_HANDLE ep, DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE,
                             DAT_COUNT size = 0, void* data = nullptr, int family = AF_INET) {
    sockaddr_in peer = test::ia_address();
    peer.sin_family = static_cast<sa_family_t>(family);
    peer.sin_port = htons(4711);
    return EXPORTED(dat_ep_common_connect)(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer), timeout,
                                           size, data);
}

Rows csp_rows_only() {
    return {
        {"dat_csp_create/raises-requests", "0 CONNECTION_REQUEST yes",
         [](Rig& r) {
             r.peer([](Side& side, Channel& channel) {
                 channel.receive<char>();
                 succeed(connect_in_common(side.endpoint()), "dat_ep_common_connect");
             });
             r << listen_in_common(r);
             r.go();
             const auto data = r.event(r.side().requests).event_data.cr_arrival_event_data;
             r << (data.sp_handle.csp_handle == csp);
         }},
        {"dat_csp_create/any-address-and-port", "0",
         [](Rig& r) { r << listen_in_common(r, {.address = "0.0.0.0", .port = 0}); }},
        {"dat_csp_create/evd-null", "0x80050014",
         [](Rig& r) { r << listen_in_common(r, {.has_evd = false}); }},
        {"dat_csp_create/unknown-communicator", "0x80170000",
         [](Rig& r) {
             r << listen_in_common(r, {.communicator = {AF_UNIX, SOCK_STREAM, 0}});
         }},
        {"dat_csp_create/address-of-another-family", "0x80120063",
         [](Rig& r) { r << listen_in_common(r, {.family = AF_INET6}); }},
        {"dat_csp_create/address-of-somebody-else", "0x80120061",
         [](Rig& r) { r << listen_in_common(r, {.address = "192.0.2.1"}); }},
        {"dat_csp_create/in-use", "0 0x80020000",
         [](Rig& r) { r << listen_in_common(r) << listen_in_common(r); }},
        {"dat_csp_create/arguments-null", "0x80060026 0x80060027 0x80060029",
         [](Rig& r) {
             DAT_COMM communicator{AF_INET, SOCK_STREAM, 0};
             sockaddr_in own{};
             own.sin_family = AF_INET;
             auto* const address = reinterpret_cast<DAT_IA_ADDRESS_PTR>(&own);
             const DAT_EVD_HANDLE evd = r.side().requests;
             r << EXPORTED(dat_csp_create)(r.ia(), nullptr, address, evd, &csp)
               << EXPORTED(dat_csp_create)(r.ia(), &communicator, nullptr, evd, &csp)
               << EXPORTED(dat_csp_create)(r.ia(), &communicator, address, evd, nullptr);
         }},
        {"dat_csp_query/all", "0 yes yes 4711",
         [](Rig& r) {
             succeed(listen_in_common(r), "dat_csp_create");
             DAT_CSP_PARAM p{};
             r << EXPORTED(dat_csp_query)(csp, DAT_CSP_FIELD_ALL, &p) << (p.ia_handle == r.ia())
               << (p.evd_handle == r.side().requests)
               << static_cast<DAT_COUNT>(
                      ntohs(reinterpret_cast<const sockaddr_in*>(p.address_ptr)->sin_port));
         }},
        {"dat_csp_query/out-null", "0x80060027",
         [](Rig& r) {
             succeed(listen_in_common(r), "dat_csp_create");
             r << EXPORTED(dat_csp_query)(csp, DAT_CSP_FIELD_ALL, nullptr);
         }},
        {"dat_csp_free/address-is-free-again", "0 0",
         [](Rig& r) {
             succeed(listen_in_common(r), "dat_csp_create");
             r << EXPORTED(dat_csp_free)(csp) << listen_in_common(r);
         }},
        {"dat_ep_common_connect/accepted", "0 ESTABLISHED CONNECTED",
         [](Rig& r) {
             r.listener([](Side& side, Channel&) { side.accept_next(); });
             const DAT_EP_HANDLE ep = r.endpoint();
             r << connect_in_common(ep);
             r.event(r.side().connections);
             r.state(ep);
         }},
        {"dat_ep_common_connect/address-null", "0x80060026",
         [](Rig& r) {
             r << EXPORTED(dat_ep_common_connect)(r.endpoint(), nullptr, 1, 0, nullptr);
         }},
        {"dat_ep_common_connect/timeout-0", "0x80060027",
         [](Rig& r) { r << connect_in_common(r.endpoint(), 0); }},
        {"dat_ep_common_connect/private-data-57", "0x80060028",
         [](Rig& r) {
             char data[57] = {};
             r << connect_in_common(r.endpoint(), 1000, 57, data);
         }},
        {"dat_ep_common_connect/private-data-null", "0x80060029",
         [](Rig& r) { r << connect_in_common(r.endpoint(), 1000, 8, nullptr); }},
        {"dat_ep_common_connect/address-of-another-family", "0x80120063",
         [](Rig& r) { r << connect_in_common(r.endpoint(), 1000, 0, nullptr, AF_UNIX); }},
        {"dat_ep_common_connect/state-connected", "0x80070033",
         [](Rig& r) { r << connect_in_common(r.connected()); }},
    };
}

}  // namespace

Rows service_point_rows() {
    Rows rows = psp_create_rows();
    for (const Rows& more : {psp_rows_besides_create(), rsp_rows_only(), csp_rows_only()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
