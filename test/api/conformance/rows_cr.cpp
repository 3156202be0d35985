// SPDX-License-Identifier: BSD-2-Clause
// Connection requests: dat_cr_query, dat_cr_accept, dat_cr_reject, dat_cr_handoff.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

constexpr const char* kReadsFreed = "reads freed memory";

/// Private data; both sides generate the same.
const std::string& pattern() {
    static const std::string text = [] {
        std::string made(512, '\0');
        for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(i % 251 + 1);
        return made;
    }();
    return text;
}

DAT_RETURN accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size = 0,
                  const void* data = pattern().data()) {
    return dat_cr_accept(cr, ep, size, const_cast<void*>(data));
}
DAT_RETURN reject(DAT_CR_HANDLE cr, DAT_COUNT size = 0, const void* data = pattern().data()) {
    return dat_cr_reject(cr, size, const_cast<void*>(data));
}

/// Writes the active side's event: its name, the size of its private data, whether that begins with
/// the first `given` bytes of the pattern, and "tail" if the padding is not zero.
void tell_answer(Rig& r, DAT_EVD_HANDLE evd, std::size_t given) {
    const auto data = r.event(evd).event_data.connect_event_data;
    r << data.private_data_size;
    if (given == 0) return;
    r << (memcmp(data.private_data, pattern().data(), given) == 0 ? "same" : "other");
    const auto* bytes = static_cast<const char*>(data.private_data);
    for (auto i = static_cast<DAT_COUNT>(given); i < data.private_data_size; ++i)
        if (bytes[i] != 0) return void(r << "tail");
}

/// This side connects; the peer accepts or rejects with `size` bytes of private data.
Row answered(const char* name, const char* answer, bool accepted, DAT_COUNT size) {
    return {name, answer, [accepted, size](Rig& r) {
                r.listener([accepted, size](Side& side, Channel&) {
                    const DAT_CR_HANDLE cr = side.request();
                    succeed(accepted ? accept(cr, side.endpoint(), size) : reject(cr, size),
                            "the answer");
                });
                succeed(connect(r.endpoint()), "dat_ep_connect");
                tell_answer(r, r.side().connections, static_cast<std::size_t>(size));
            }};
}

DAT_EP_HANDLE incomplete(Rig& r, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE connections) {
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    const Side& side = r.side();
    succeed(dat_ep_create(side.ia, pz, side.receives, side.sends, connections, nullptr, &ep),
            "dat_ep_create");
    return ep;
}

/// @return a request that the peer has given up by disconnecting its EP.
DAT_CR_HANDLE given_up(Rig& r) {
    r.peer([](Side& side, Channel& channel) {
        channel.receive<char>();
        const DAT_EP_HANDLE ep = side.endpoint();
        succeed(connect(ep), "dat_ep_connect");
        channel.receive<char>();
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        channel.send('d');
    });
    r.side().listen(kQualifier);
    r.go();
    const DAT_CR_HANDLE cr = r.side().request();
    r.go();
    r.channel().receive<char>();
    return cr;
}

Rows query_rows() {
    return {
        {"dat_cr_query/all", "0 2 0 56 yes yes",
         [](Rig& r) {
             DAT_CR_PARAM p{};
             r << dat_cr_query(r.requested(), DAT_CR_FIELD_ALL, &p)
               << static_cast<DAT_COUNT>(p.remote_ia_address_ptr->sa_family) << p.remote_port_qual
               << p.private_data_size << (p.private_data != nullptr)
               << (p.local_ep_handle == nullptr);
         }},
        {"dat_cr_query/mask-0-fills-all", "0 56",
         [](Rig& r) {
             DAT_CR_PARAM p{};
             r << dat_cr_query(r.requested(), static_cast<DAT_CR_PARAM_MASK>(0), &p)
               << p.private_data_size;
         }},
        {"dat_cr_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_cr_query(r.requested(), DAT_CR_FIELD_ALL, nullptr); }},
        {"dat_cr_query/private-data-padded-with-zeros", "56 same zeros",
         [](Rig& r) {
             DAT_CR_PARAM p{};
             succeed(dat_cr_query(r.requested({.size = 48, .data = pattern().data()}),
                                  DAT_CR_FIELD_ALL, &p),
                     "dat_cr_query");
             const auto* bytes = static_cast<const char*>(p.private_data);
             r << p.private_data_size
               << (memcmp(bytes, pattern().data(), 48) == 0 ? "same" : "other")
               << (std::string(bytes + 48, 8) == std::string(8, '\0') ? "zeros" : "rest");
         }},
        {"dat_cr_query/of-an-answered-request", "0x80050012",
         [](Rig& r) {
             DAT_CR_PARAM p{};
             const DAT_CR_HANDLE cr = r.requested();
             succeed(reject(cr), "dat_cr_reject");
             r << dat_cr_query(cr, DAT_CR_FIELD_ALL, &p);
         },
         kReadsFreed},
    };
}

Rows accept_rows() {
    return {
        {"dat_cr_accept/consumer's-endpoint", "0 ESTABLISHED 0 yes ESTABLISHED CONNECTED",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << accept(cr, ep);
             const auto data = r.event(r.side().connections).event_data.connect_event_data;
             r << data.private_data_size << (data.private_data == nullptr);
             r.peer_tells();
             r.state(ep);
         }},
        answered("dat_cr_accept/no-private-data", "ESTABLISHED 196", true, 0),
        answered("dat_cr_accept/private-data-1", "ESTABLISHED 196 same", true, 1),
        answered("dat_cr_accept/private-data-148", "ESTABLISHED 196 same", true, 148),
        {"dat_cr_accept/private-data-161", "0x80060027 UNCONNECTED",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << accept(cr, ep, 161);
             r.state(ep);
         }},
        {"dat_cr_accept/private-data-197", "0x80060027 UNCONNECTED",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             const DAT_EP_HANDLE ep = r.endpoint();
             r << accept(cr, ep, 197);
             r.state(ep);
         }},
        {"dat_cr_accept/too-much-and-then-rejected", "0x80060027 0 PEER_REJECTED",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << accept(cr, r.endpoint(), 197) << reject(cr);
             r.peer_tells();
         },
         kReadsFreed},
        {"dat_cr_accept/private-data-null", "0x80060028",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << accept(cr, r.endpoint(), 4, nullptr);
         }},
        {"dat_cr_accept/endpoint-null", "0x8005000C",
         [](Rig& r) { r << accept(r.requested(), DAT_HANDLE_NULL); }},
        {"dat_cr_accept/endpoint-of-another-kind", "0x8005000C",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << accept(cr, r.other_kind());
         }},
        {"dat_cr_accept/endpoint-without-pz", "0x8005000C",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << accept(cr, incomplete(r, DAT_HANDLE_NULL, r.side().connections));
         }},
        {"dat_cr_accept/endpoint-without-connect-evd", "0x8005000C",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << accept(cr, incomplete(r, r.side().pz, DAT_HANDLE_NULL));
         }},
        {"dat_cr_accept/endpoint-connected", "0x00070000",
         [](Rig& r) {
             r.client({}, [](Side& side, Channel&) {
                 Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
                 succeed(connect(side.endpoint()), "dat_ep_connect");
             });
             r.side().listen(kQualifier);
             r.go();
             const DAT_EP_HANDLE ep = r.side().accept_next();
             r << accept(r.side().request(), ep);
         }},
        {"dat_cr_accept/endpoint-disconnected", "0x00070000",
         [](Rig& r) {
             r.client({});
             const DAT_EP_HANDLE ep = disconnected(r);
             r.side().listen(kQualifier);
             r.go();
             r << accept(r.side().request(), ep);
         }},
        {"dat_cr_accept/answered-request", "0 0x80050012",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << accept(cr, r.endpoint()) << accept(cr, r.endpoint());
         },
         kReadsFreed},
        {"dat_cr_accept/peer-gave-up-before",
         "0 ACCEPT_COMPLETION_ERROR DISCONNECTED 0 UNCONNECTED",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = given_up(r);
             const DAT_EP_HANDLE ep = r.endpoint();
             r << accept(cr, ep);
             r.event(r.side().connections);
             r.comes_to(ep, DAT_EP_STATE_DISCONNECTED);
             r << dat_ep_reset(ep);
             r.state(ep);
         },
         "no event ever follows"},
    };
}

Rows reject_rows() {
    return {
        {"dat_cr_reject/peer-rejected", "0 PEER_REJECTED",
         [](Rig& r) {
             r << reject(r.requested());
             r.peer_tells();
         }},
        answered("dat_cr_reject/no-private-data", "PEER_REJECTED 148", false, 0),
        answered("dat_cr_reject/private-data-1", "PEER_REJECTED 148 same", false, 1),
        answered("dat_cr_reject/private-data-112", "PEER_REJECTED 148 same", false, 112),
        {"dat_cr_reject/private-data-149", "0x80060026",
         [](Rig& r) { r << reject(r.requested(), 149); }},
        {"dat_cr_reject/private-data-null", "0x80060027",
         [](Rig& r) { r << reject(r.requested(), 4, nullptr); }},
        {"dat_cr_reject/answered-request", "0 0x80050012",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             r << reject(cr) << reject(cr);
         },
         kReadsFreed},
        {"dat_cr_reject/of-a-reserved-endpoint", "0 PEER_REJECTED UNCONNECTED",
         [](Rig& r) {
             r.client({},
                      [](Side& side, Channel& channel) { tell_event(channel, side.connections); });
             const DAT_EP_HANDLE ep = reserved(r);
             r.go();
             r << reject(r.side().request());
             r.peer_tells();
             r.state(ep);
         }},
        {"dat_cr_reject/peer-gave-up-before", "0", [](Rig& r) { r << reject(given_up(r)); }},
        {"dat_cr_reject/of-a-provider's-endpoint", "0 PEER_REJECTED 0x8005000C",
         [](Rig& r) {
             r.client({},
                      [](Side& side, Channel& channel) { tell_event(channel, side.connections); });
             DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
             succeed(
                 dat_psp_create(r.ia(), kQualifier, r.side().requests, DAT_PSP_PROVIDER_FLAG, &psp),
                 "dat_psp_create");
             r.go();
             const DAT_CR_HANDLE cr = r.side().request();
             DAT_CR_PARAM p{};
             succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p), "dat_cr_query");
             r << reject(cr);
             r.peer_tells();
             r << dat_ep_get_status(p.local_ep_handle, nullptr, nullptr, nullptr);
         },
         "it crashes in the call"},
    };
}

Rows handoff_rows() {
    return {
        {"dat_cr_handoff/to-another-psp", "0 CONNECTION_REQUEST yes 0x80050012",
         [](Rig& r) {
             const DAT_CR_HANDLE cr = r.requested();
             const DAT_PSP_HANDLE other = r.side().listen(kQualifier + 1);
             const DAT_RETURN code = dat_cr_handoff(cr, kQualifier + 1);
             r << code;
             if (code != DAT_SUCCESS) return;
             const auto data = r.event(r.side().requests).event_data.cr_arrival_event_data;
             r << (data.sp_handle.psp_handle == other) << reject(cr);
         }},
        {"dat_cr_handoff/nobody-listens-there", "0x80060026",
         [](Rig& r) { r << dat_cr_handoff(r.requested(), kQualifier + 1); }},
    };
}

}  // namespace

Rows cr_rows() {
    Rows rows = query_rows();
    for (const Rows& more : {accept_rows(), reject_rows(), handoff_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
