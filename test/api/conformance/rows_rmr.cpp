// SPDX-License-Identifier: BSD-2-Clause
// Remote memory regions, and the requests that use them.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

constexpr DAT_COMPLETION_FLAGS kDefault = DAT_COMPLETION_DEFAULT_FLAG;

DAT_RMR_HANDLE made(Rig& r, bool for_ep = false) {
    DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
    if (for_ep)
        succeed(EXPORTED(dat_rmr_create_for_ep)(r.side().pz, &rmr), "dat_rmr_create_for_ep");
    else
        succeed(dat_rmr_create(r.side().pz, &rmr), "dat_rmr_create");
    return rmr;
}

/// A connected EP, an RMR and memory to bind it to. The peer writes to each address that it is sent
/// and sends back the status.
struct Bound {
    DAT_EP_HANDLE ep;
    DAT_RMR_HANDLE rmr;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_TRIPLET triplet;
    DAT_RMR_CONTEXT context = 0;

    explicit Bound(Rig& r, bool for_ep = false)
        : ep(r.connected(writer)),
          rmr(made(r, for_ep)),
          lmr(r.buffer().lmr),
          triplet(segment(r.buffer(), 16)) {}

    DAT_RETURN bind(unsigned privileges = DAT_MEM_PRIV_ALL_FLAG, unsigned flags = 0) {
        return dat_rmr_bind(rmr, lmr, &triplet, static_cast<DAT_MEM_PRIV_FLAGS>(privileges),
                            DAT_VA_TYPE_VA, ep, cookie(9), static_cast<DAT_COMPLETION_FLAGS>(flags),
                            &context);
    }
    DAT_RETURN unbind() {
        triplet.segment_length = 0;
        return bind();
    }
    /// @return the status of the peer's write.
    DAT_COUNT peer_writes(Rig& r) const {
        r.channel().send(Remote{triplet.virtual_address, context});
        return r.channel().receive<DAT_COUNT>();
    }

    static void writer(Side& side, DAT_EP_HANDLE other, Channel& channel) {
        Buffer& buffer = *new Buffer(side);
        buffer.bytes.replace(0, 4, "MINE");
        for (;;) {
            const auto remote = channel.receive<Remote>();
            DAT_LMR_TRIPLET local = segment(buffer, 8);
            const DAT_RMR_TRIPLET there = remote_segment(remote, 8);
            succeed(dat_ep_post_rdma_write(other, 1, &local, cookie(1), &there, kDefault),
                    "dat_ep_post_rdma_write");
            DAT_EVENT event{};
            DAT_COUNT more = 0;
            succeed(dat_evd_wait(side.sends, test::kMicroseconds, 1, &event, &more), "a write");
            channel.send(static_cast<DAT_COUNT>(event.event_data.dto_completion_event_data.status));
        }
    }
};

void tell_bind(Rig& r) {
    const auto data = r.event(r.side().sends).event_data.rmr_completion_event_data;
    r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status);
}

Row bound(const char* name, const char* answer, std::function<void(Rig&, Bound&)> body) {
    return {std::string("dat_rmr_bind/") + name, answer, [body](Rig& r) {
                Bound with(r);
                body(r, with);
            }};
}

Rows rmr_only_rows() {
    return {
        {"dat_rmr_create/new", "0",
         [](Rig& r) {
             DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
             r << dat_rmr_create(r.side().pz, &rmr);
         }},
        {"dat_rmr_create/out-null", "0x80060026",
         [](Rig& r) { r << dat_rmr_create(r.side().pz, nullptr); }},
        {"dat_rmr_create/keeps-its-pz", "0x80070053",
         [](Rig& r) {
             made(r);
             r << dat_pz_free(r.side().pz);
         }},
        {"dat_rmr_create_for_ep/new", "0",
         [](Rig& r) {
             DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
             r << EXPORTED(dat_rmr_create_for_ep)(r.side().pz, &rmr);
         }},
        {"dat_rmr_create_for_ep/out-null", "0x80060026",
         [](Rig& r) { r << EXPORTED(dat_rmr_create_for_ep)(r.side().pz, nullptr); }},
        {"dat_rmr_create_for_ep/bind-and-write", "0 RMR_BIND 9 0 0",
         [](Rig& r) {
             Bound with(r, true);
             r << with.bind();
             tell_bind(r);
             r << with.peer_writes(r);
         }},
        {"dat_rmr_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_rmr_query(made(r), DAT_RMR_FIELD_ALL, nullptr); }},
        {"dat_rmr_query/triplet-of-an-unbound-one", "0x80060026",
         [](Rig& r) {
             DAT_RMR_PARAM p{};
             r << dat_rmr_query(made(r), DAT_RMR_FIELD_LMR_TRIPLET, &p);
         }},
        {"dat_rmr_query/unbound", "0 yes yes",
         [](Rig& r) {
             DAT_RMR_PARAM p{};
             r << dat_rmr_query(made(r), DAT_RMR_FIELD_PZ_HANDLE, &p) << (p.ia_handle == r.ia())
               << (p.pz_handle == r.side().pz);
         }},
        {"dat_rmr_query/bound", "0 yes 16 yes",
         [](Rig& r) {
             Bound with(r);
             succeed(with.bind(), "dat_rmr_bind");
             Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
             DAT_RMR_PARAM p{};
             r << dat_rmr_query(with.rmr, DAT_RMR_FIELD_ALL, &p)
               << (p.lmr_triplet.virtual_address == with.triplet.virtual_address)
               << static_cast<DAT_COUNT>(p.lmr_triplet.segment_length)
               << (p.rmr_context == with.context);
         }},
        {"dat_rmr_free/unbound", "0", [](Rig& r) { r << dat_rmr_free(made(r)); }},
        {"dat_rmr_free/bound", "0",
         [](Rig& r) {
             Bound with(r);
             succeed(with.bind(), "dat_rmr_bind");
             Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
             r << dat_rmr_free(with.rmr);
         }},
        {"dat_lmr_free/bound", "0x00070000",
         [](Rig& r) {
             Bound with(r);
             succeed(with.bind(), "dat_rmr_bind");
             Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
             r << dat_lmr_free(with.lmr);
         }},
    };
}

Rows bind_rows() {
    return {
        bound("bind-and-write", "0 RMR_BIND 9 0 0 MINE",
              [](Rig& r, Bound& with) {
                  r << with.bind();
                  tell_bind(r);
                  r << with.peer_writes(r) << r.buffer().bytes.substr(0, 4);
              }),
        bound("unbound-is-closed", "0 RMR_BIND 9 0 6",
              [](Rig& r, Bound& with) {
                  succeed(with.bind(), "dat_rmr_bind");
                  Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
                  const DAT_RMR_CONTEXT before = with.context;
                  r << with.unbind();
                  tell_bind(r);
                  with.context = before;
                  r << with.peer_writes(r);
              }),
        bound("bound-anew", "0 RMR_BIND 9 0 yes 0",
              [](Rig& r, Bound& with) {
                  succeed(with.bind(), "dat_rmr_bind");
                  Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
                  const DAT_RMR_CONTEXT before = with.context;
                  r << with.bind();
                  tell_bind(r);
                  r << (with.context != before) << with.peer_writes(r);
              }),
        bound("without-the-right-to-write", "0 6",
              [](Rig& r, Bound& with) {
                  r << with.bind(DAT_MEM_PRIV_REMOTE_READ_FLAG);
                  Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
                  r << with.peer_writes(r);
              }),
        bound("endpoint-null", "0x8005000C",
              [](Rig& r, Bound& with) {
                  with.ep = DAT_HANDLE_NULL;
                  r << with.bind();
              }),
        bound("endpoint-of-another-kind", "0x8005000C",
              [](Rig& r, Bound& with) {
                  with.ep = r.other_kind();
                  r << with.bind();
              }),
        bound("lmr-of-another-kind", "0x8005000D",
              [](Rig& r, Bound& with) {
                  with.lmr = r.other_kind();
                  r << with.bind();
              }),
        bound("state-unconnected", "0x8007002F",
              [](Rig& r, Bound& with) {
                  with.ep = r.endpoint();
                  r << with.bind();
              }),
        bound("outside-of-the-lmr", "0x80060026",
              [](Rig& r, Bound& with) {
                  with.triplet.segment_length = 100000;
                  r << with.bind();
              }),
        bound("lmr-of-another-pz", "0x80060028",
              [](Rig& r, Bound& with) {
                  DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
                  succeed(dat_pz_create(r.ia(), &pz), "dat_pz_create");
                  succeed(dat_rmr_create(pz, &with.rmr), "dat_rmr_create");
                  r << with.bind();
              }),
        bound("triplet-null", "0x80060027",
              [](Rig& r, Bound& with) {
                  r << dat_rmr_bind(with.rmr, with.lmr, nullptr, DAT_MEM_PRIV_ALL_FLAG,
                                    DAT_VA_TYPE_VA, with.ep, cookie(9), kDefault, &with.context);
              }),
        bound("flags-that-its-endpoint-does-not-have", "0x80060028",
              [](Rig& r, Bound& with) {
                  r << with.bind(DAT_MEM_PRIV_ALL_FLAG, DAT_COMPLETION_SUPPRESS_FLAG);
              }),
    };
}

DAT_RETURN send_invalidating(DAT_EP_HANDLE ep, DAT_BOOLEAN invalidates, DAT_RMR_CONTEXT context) {
    return EXPORTED(dat_ep_post_send_with_invalidate)(ep, 0, nullptr, cookie(5), kDefault,
                                                      invalidates, context);
}

Rows request_rows() {
    return {
        {"dat_ep_post_send_with_invalidate/closes-the-peer's-rmr", "0 DTO 4 yes",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 const auto context = channel.receive<DAT_RMR_CONTEXT>();
                 channel.send(send_invalidating(other, DAT_TRUE, context));
             });
             const DAT_RMR_HANDLE rmr = made(r, true);
             DAT_LMR_TRIPLET triplet = segment(r.buffer(), 16);
             DAT_RMR_CONTEXT context = 0;
             succeed(dat_rmr_bind(rmr, r.buffer().lmr, &triplet, DAT_MEM_PRIV_ALL_FLAG,
                                  DAT_VA_TYPE_VA, ep, cookie(9), kDefault, &context),
                     "dat_rmr_bind");
             Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
             succeed(dat_ep_post_recv(ep, 0, nullptr, cookie(1), kDefault), "dat_ep_post_recv");
             r.channel().send(context);
             r << r.channel().receive<DAT_RETURN>();
             const auto data = r.event(r.side().receives).event_data.dto_completion_event_data;
             r << static_cast<DAT_COUNT>(data.operation) << (data.rmr_context == context);
         }},
        {"dat_ep_post_send_with_invalidate/without-invalidation", "DTO 5 0",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side&, DAT_EP_HANDLE other, Channel& channel) {
                 dat_ep_post_recv(other, 0, nullptr, cookie(1), kDefault);
                 channel.send('p');
             });
             r.channel().receive<char>();
             succeed(send_invalidating(ep, DAT_FALSE, 0), "a send");
             const auto data = r.event(r.side().sends).event_data.dto_completion_event_data;
             r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status);
         }},
        {"dat_ep_post_send_with_invalidate/state-unconnected", "0x8007002F",
         [](Rig& r) { r << send_invalidating(r.endpoint(), DAT_TRUE, 1); }},
        {"dat_ep_post_rdma_read_to_rmr/reads", "0 DTO 7 0 MINE",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected([](Side& side, DAT_EP_HANDLE, Channel& channel) {
                 Buffer& buffer = *new Buffer(side);
                 buffer.bytes.replace(0, 4, "MINE");
                 channel.send(
                     Remote{reinterpret_cast<DAT_VADDR>(buffer.bytes.data()), buffer.remote_key});
             });
             const auto remote = r.channel().receive<Remote>();
             const DAT_RMR_HANDLE rmr = made(r);
             DAT_LMR_TRIPLET triplet = segment(r.buffer(), 16);
             DAT_RMR_CONTEXT context = 0;
             succeed(dat_rmr_bind(rmr, r.buffer().lmr, &triplet, DAT_MEM_PRIV_ALL_FLAG,
                                  DAT_VA_TYPE_VA, ep, cookie(9), kDefault, &context),
                     "dat_rmr_bind");
             Side::wait(r.side().sends, DAT_RMR_BIND_COMPLETION_EVENT);
             const DAT_RMR_TRIPLET here = remote_segment({triplet.virtual_address, context}, 8);
             const DAT_RMR_TRIPLET there = remote_segment(remote, 8);
             r << EXPORTED(dat_ep_post_rdma_read_to_rmr)(ep, &here, cookie(7), &there, kDefault);
             const auto data = r.event(r.side().sends).event_data.dto_completion_event_data;
             r << data.user_cookie.as_64 << static_cast<DAT_COUNT>(data.status)
               << r.buffer().bytes.substr(0, 4);
         }},
        {"dat_ep_post_rdma_read_to_rmr/arguments-null", "0x80060026 0x80060028",
         [](Rig& r) {
             const DAT_EP_HANDLE ep = r.connected();
             const DAT_RMR_TRIPLET triplet{};
             const auto read = EXPORTED(dat_ep_post_rdma_read_to_rmr);
             r << read(ep, nullptr, cookie(7), &triplet, kDefault)
               << read(ep, &triplet, cookie(7), nullptr, kDefault);
         }},
    };
}

}  // namespace

Rows rmr_rows() {
    Rows rows = rmr_only_rows();
    for (const Rows& more : {bind_rows(), request_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
