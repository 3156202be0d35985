// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues, and the endpoints that use them.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

DAT_SRQ_HANDLE srq;
DAT_EP_HANDLE ep;

DAT_RETURN create(Rig& r, DAT_COUNT receives = 8, DAT_COUNT segments = 2, DAT_COUNT watermark = 0) {
    DAT_SRQ_ATTR attributes{receives, segments, watermark};
    return dat_srq_create(r.ia(), r.side().pz, &attributes, &srq);
}

DAT_RETURN post(DAT_SRQ_HANDLE to, DAT_UINT64 value = 1, DAT_COUNT segments = 0,
                DAT_LMR_TRIPLET* local = nullptr) {
    return dat_srq_post_recv(to, segments, local, cookie(value));
}

DAT_SRQ_PARAM query(DAT_SRQ_HANDLE asked) {
    DAT_SRQ_PARAM parameters{};
    succeed(dat_srq_query(asked, DAT_SRQ_FIELD_ALL, &parameters), "dat_srq_query");
    return parameters;
}

void tell_room(Rig& r) {
    DAT_COUNT taken = 0;
    DAT_RETURN code;
    while ((code = post(srq)) == DAT_SUCCESS && taken < 1000) ++taken;
    r << taken << code;
}

Rows srq_only_rows() {
    return {
        {"dat_srq_create/new", "0", [](Rig& r) { r << create(r); }},
        {"dat_srq_create/pz-null", "0x8005000F",
         [](Rig& r) {
             DAT_SRQ_ATTR attributes{8, 2, 0};
             r << dat_srq_create(r.ia(), DAT_HANDLE_NULL, &attributes, &srq);
         }},
        {"dat_srq_create/pz-of-another-kind", "0x8005000F",
         [](Rig& r) {
             DAT_SRQ_ATTR attributes{8, 2, 0};
             r << dat_srq_create(r.ia(), r.side().sends, &attributes, &srq);
         }},
        {"dat_srq_create/out-null", "0x80060028",
         [](Rig& r) {
             DAT_SRQ_ATTR attributes{8, 2, 0};
             r << dat_srq_create(r.ia(), r.side().pz, &attributes, nullptr);
         }},
        {"dat_srq_create/attributes-null", "0x80060027",
         [](Rig& r) { r << dat_srq_create(r.ia(), r.side().pz, nullptr, &srq); }},
        {"dat_srq_create/no-receives", "0x00030000", [](Rig& r) { r << create(r, 0); }},
        {"dat_srq_create/too-many-segments", "0x00030000",
         [](Rig& r) { r << create(r, 8, 100000); }},
        {"dat_srq_create/far-too-many-receives", "0x00030000",
         [](Rig& r) { r << create(r, 1000000000); }, "it crashes"},
        {"dat_srq_create/low-watermark-above-its-size", "0 20",
         [](Rig& r) { r << create(r, 8, 2, 20) << query(srq).low_watermark; }},
        {"dat_srq_create/keeps-its-pz", "0 0x80070053",
         [](Rig& r) { r << create(r) << dat_pz_free(r.side().pz); }},
        {"dat_srq_query/fresh", "0 yes 1 yes 8 2 0 0",
         [](Rig& r) {
             r << create(r);
             const DAT_SRQ_PARAM p = query(srq);
             r << (p.ia_handle == r.ia()) << static_cast<DAT_COUNT>(p.srq_state)
               << (p.pz_handle == r.side().pz) << p.max_recv_dtos << p.max_recv_iov
               << p.low_watermark << p.outstanding_dto_count;
         }},
        {"dat_srq_query/available-and-outstanding", "3 3",
         [](Rig& r) {
             succeed(create(r), "dat_srq_create");
             for (int i = 0; i < 3; ++i) succeed(post(srq), "dat_srq_post_recv");
             const DAT_SRQ_PARAM p = query(srq);
             r << p.available_dto_count << p.outstanding_dto_count;
         }},
        {"dat_srq_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_srq_query(r.srq(), DAT_SRQ_FIELD_ALL, nullptr); }},
        {"dat_srq_post_recv/room", "8 0x80030002",
         [](Rig& r) {
             succeed(create(r), "dat_srq_create");
             tell_room(r);
         }},
        {"dat_srq_resize/larger", "0 20 20 0x80030002",
         [](Rig& r) {
             succeed(create(r), "dat_srq_create");
             r << dat_srq_resize(srq, 20) << query(srq).max_recv_dtos;
             tell_room(r);
         }},
        {"dat_srq_resize/not-above-the-low-watermark", "0x80070000",
         [](Rig& r) {
             succeed(create(r, 8, 2, 4), "dat_srq_create");
             r << dat_srq_resize(srq, 4);
         }},
        {"dat_srq_resize/fewer-than-are-posted", "0x80070000",
         [](Rig& r) {
             succeed(create(r), "dat_srq_create");
             for (int i = 0; i < 3; ++i) succeed(post(srq), "dat_srq_post_recv");
             r << dat_srq_resize(srq, 2);
         }},
        {"dat_srq_resize/0", "0x80070000", [](Rig& r) { r << dat_srq_resize(r.srq(), 0); }},
        {"dat_srq_set_lw/told-at-once-when-fewer-are-posted", "0 ASYNC_EP_BROKEN yes 2",
         [](Rig& r) {
             succeed(create(r), "dat_srq_create");
             const DAT_RETURN code = dat_srq_set_lw(srq, 4);
             r << code;
             if (code != DAT_SUCCESS) return;
             const auto data = r.event(r.side().async).event_data.asynch_error_event_data;
             r << (data.dat_handle == srq) << data.reason;
         }},
        {"dat_srq_set_lw/above-its-size", "0x80060026",
         [](Rig& r) { r << dat_srq_set_lw(r.srq(), 100); }},
        {"dat_srq_set_lw/negative", "0x80060026", [](Rig& r) { r << dat_srq_set_lw(r.srq(), -1); }},
        {"dat_srq_free/unused", "0", [](Rig& r) { r << dat_srq_free(r.srq()); }},
        {"dat_srq_free/receives-posted", "0 0x000D0000",
         [](Rig& r) {
             succeed(create(r), "dat_srq_create");
             succeed(post(srq), "dat_srq_post_recv");
             DAT_EVENT event{};
             r << dat_srq_free(srq) << dat_evd_dequeue(r.side().receives, &event);
         }},
    };
}

/// The arguments of dat_ep_create_with_srq() that rows change one by one.
struct Create {
    DAT_PZ_HANDLE pz;
    DAT_EVD_HANDLE receives, sends, connections;
    DAT_SRQ_HANDLE srq;
    DAT_EP_ATTR attributes{};

    explicit Create(Rig& r)
        : pz(r.side().pz),
          receives(r.side().receives),
          sends(r.side().sends),
          connections(r.side().connections),
          srq(r.srq()) {
        DAT_EP_PARAM parameters{};
        succeed(dat_ep_query(r.endpoint(), DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
        attributes = parameters.ep_attr;
    }
    DAT_RETURN operator()(Rig& r, const DAT_EP_ATTR* given) {
        return dat_ep_create_with_srq(r.ia(), pz, receives, sends, connections, srq, given, &ep);
    }
};

Row plain(const char* name, const char* answer, std::function<void(Create&)> change,
          const char* not_asked = "") {
    return {std::string("dat_ep_create_with_srq/") + name, answer,
            [change](Rig& r) {
                Create with(r);
                change(with);
                r << with(r, nullptr);
            },
            not_asked};
}
Row changed(const char* name, const char* answer, std::function<void(Create&)> change) {
    return {std::string("dat_ep_create_with_srq/") + name, answer, [change](Rig& r) {
                Create with(r);
                change(with);
                r << with(r, &with.attributes);
            }};
}

Rows create_rows() {
    return {
        plain("without-attributes", "0", [](Create&) {}),
        changed("with-attributes", "0", [](Create&) {}),
        plain("pz-null", "0", [](Create& c) { c.pz = nullptr; }),
        plain("srq-null", "0x80050019", [](Create& c) { c.srq = nullptr; }),
        plain("srq-of-another-kind", "0x80050019", [](Create& c) { c.srq = c.pz; }),
        plain("pz-of-another-kind", "0x8005000F", [](Create& c) { c.pz = c.sends; }),
        plain("connect-evd-of-another-kind", "0x80050017", [](Create& c) { c.connections = c.pz; }),
        plain(
            "connect-evd-null", "0", [](Create& c) { c.connections = nullptr; }, "it crashes"),
        plain("receive-evd-of-another-kind", "0x80050016", [](Create& c) { c.receives = c.pz; }),
        plain("request-evd-of-another-kind", "0x80050015", [](Create& c) { c.sends = c.pz; }),
        changed("receive-evd-null", "0x0006002A", [](Create& c) { c.receives = nullptr; }),
        changed("no-receive-dtos", "0x0006002A", [](Create& c) { c.attributes.max_recv_dtos = 0; }),
        changed("no-request-dtos", "0x0006002A",
                [](Create& c) { c.attributes.max_request_dtos = 0; }),
        changed("no-receive-iov", "0x0006002A", [](Create& c) { c.attributes.max_recv_iov = 0; }),
        changed("no-request-iov", "0x0006002A",
                [](Create& c) { c.attributes.max_request_iov = 0; }),
        changed("above-the-adapter", "0x0006002A",
                [](Create& c) { c.attributes.max_request_dtos = 1 << 30; }),
        {"dat_ep_create_with_srq/attributes-misaligned", "0x8006002A",
         [](Rig& r) {
             Create with(r);
             static char room[sizeof(DAT_EP_ATTR) + 8];
             r << with(r, reinterpret_cast<DAT_EP_ATTR*>(room + 1));
         }},
        {"dat_ep_create_with_srq/out-null", "0x8006002C",
         [](Rig& r) {
             Create c(r);
             r << dat_ep_create_with_srq(r.ia(), c.pz, c.receives, c.sends, c.connections, c.srq,
                                         nullptr, nullptr);
         },
         "it crashes"},
        {"dat_ep_create_with_srq/query", "0 yes",
         [](Rig& r) {
             Create with(r);
             DAT_EP_PARAM p{};
             r << with(r, nullptr);
             succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p), "dat_ep_query");
             r << (p.srq_handle == with.srq);
         }},
        {"dat_ep_post_recv/endpoint-with-srq", "0 0x80070057",
         [](Rig& r) {
             Create with(r);
             r << with(r, nullptr)
               << dat_ep_post_recv(ep, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
         }},
        {"dat_srq_free/endpoint-attached", "0 0x80070057 0 0",
         [](Rig& r) {
             Create with(r);
             r << with(r, nullptr) << dat_srq_free(with.srq) << dat_ep_free(ep)
               << dat_srq_free(with.srq);
         }},
        {"dat_ep_get_status/no-receives-with-srq", "0",
         [](Rig& r) {
             Create with(r);
             succeed(with(r, nullptr), "dat_ep_create_with_srq");
             succeed(post(with.srq), "dat_srq_post_recv");
             DAT_BOOLEAN receives = DAT_TRUE;
             succeed(dat_ep_get_status(ep, nullptr, &receives, nullptr), "dat_ep_get_status");
             r << static_cast<DAT_COUNT>(receives);
         }},
    };
}

/// An EP of this side with an SRQ, connected to a peer that sends one message for each go().
struct Connected {
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

    explicit Connected(Rig& r) {
        r.listener([](Side& side, Channel& channel) {
            const DAT_EP_HANDLE other = side.accept_next();
            for (;;) {
                channel.receive<char>();
                dat_ep_post_send(other, 0, nullptr, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
            }
        });
        const Side& side = r.side();
        srq = r.srq();
        succeed(dat_ep_create_with_srq(side.ia, side.pz, side.receives, side.sends,
                                       side.connections, srq, nullptr, &ep),
                "dat_ep_create_with_srq");
        succeed(connect(ep), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    }
};

Rows message_rows() {
    return {
        {"dat_srq_post_recv/completion", "0 DTO 5 0",
         [](Rig& r) {
             Connected with(r);
             r << post(with.srq, 5);
             r.go();
             const auto data = r.event(r.side().receives).event_data.dto_completion_event_data;
             r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status);
         }},
        {"dat_srq_post_recv/completion-names-the-endpoint", "yes",
         [](Rig& r) {
             Connected with(r);
             succeed(post(with.srq), "dat_srq_post_recv");
             r.go();
             r << (Side::wait(r.side().receives, DAT_DTO_COMPLETION_EVENT)
                       .event_data.dto_completion_event_data.ep_handle == with.ep);
         }},
        {"dat_srq_post_recv/receives-are-not-flushed", "0 DISCONNECTED 1",
         [](Rig& r) {
             Connected with(r);
             succeed(post(with.srq), "dat_srq_post_recv");
             r << dat_ep_disconnect(with.ep, DAT_CLOSE_ABRUPT_FLAG);
             r.event(r.side().connections);
             r << query(with.srq).outstanding_dto_count;
         }},
        {"dat_ep_recv_query/nothing-held", "0 0 0",
         [](Rig& r) {
             Connected with(r);
             DAT_COUNT allocated = -1, span = -1;
             const DAT_RETURN code = dat_ep_recv_query(with.ep, &allocated, &span);
             r << code;
             if (code == DAT_SUCCESS) r << allocated << span;
         }},
        {"dat_ep_set_watermark/set", "0",
         [](Rig& r) {
             Connected with(r);
             r << dat_ep_set_watermark(with.ep, 4, 8);
         }},
    };
}

}  // namespace

Rows srq_rows() {
    Rows rows = srq_only_rows();
    for (const Rows& more : {create_rows(), message_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
