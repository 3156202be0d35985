// SPDX-License-Identifier: BSD-2-Clause
// Datagram endpoints between real processes; compiled three times: over rdma_cm's datagram port
// space (libdaplsoft), with TEST_OVER_SOCKETS over the socket manager (libdaploscm on softverbs),
// and with TEST_OVER_DATAGRAMS over datagrams (libdaploucm on softverbs).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#ifdef TEST_OVER_SOCKETS
#include "test/support/over_sockets.hpp"
#endif
#ifdef TEST_OVER_DATAGRAMS
#include "test/support/over_datagrams.hpp"
#endif

#include "test/api/ud_side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 21377;
constexpr DAT_RETURN kBadEndpoint =
    DAT_CLASS_ERROR | DAT_INVALID_HANDLE | static_cast<DAT_RETURN>(DAT_INVALID_HANDLE_EP);
DAT_RETURN bad_argument(int number) {
    return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER |
           static_cast<DAT_RETURN>(DAT_INVALID_ARG1 + number - 1);
}

class Ud : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

/// Two endpoints of one process; meet() gives each the other's address.
struct Couple {
    UdSide side;
    DAT_PSP_HANDLE psp = side.listen(kQualifier);
    DAT_EP_HANDLE asker = side.datagrams();
    DAT_EP_HANDLE other = side.datagrams();
    DAT_IB_ADDR_HANDLE to_other{}, to_asker{};

    void meet() {
        succeed(Side::connect(asker, kQualifier), "dat_ep_connect");
        succeed(UdSide::accept(side.datagram_request(), other), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) {
            const DAT_EVENT event =
                Side::wait(side.connections,
                           static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED));
            const auto extension = extension_of(event);
            (extension.type == DAT_IB_UD_REMOTE_AH ? to_other : to_asker) = extension.remote_ah;
        }
        require(to_other.ah && to_asker.ah, "each knows the other");
    }
};

DAT_UINT64 counter(DAT_HANDLE handle, int which) {
    DAT_UINT64 value = 0;
    succeed(dat_ib_query_counters(handle, which, &value, 0), "dat_ib_query_counters");
    return value;
}

TEST_F(Ud, messages_and_exchanges_of_addresses_are_counted) {
    Couple both;
    both.meet();
    Buffer in(both.side), out(both.side);
    UdSide::post_receive(both.other, in);
    both.side.send(both.asker, out, "hello", both.to_other);
    DAT_UINT32 from = 0;
    require(both.side.receive(both.other, in, from) == "hello", "the message");
    EXPECT_EQ(counter(both.asker, DCNT_EP_CONNECT), 1U);
    EXPECT_EQ(counter(both.asker, DCNT_EP_POST_SEND_UD), 1U);
    EXPECT_EQ(counter(both.asker, DCNT_EP_POST_SEND_UD_DATA), 5U);
    EXPECT_EQ(counter(both.asker, DCNT_EP_POST_SEND), 0U);
    EXPECT_EQ(counter(both.other, DCNT_EP_POST_RECV), 1U);
    EXPECT_EQ(counter(both.other, DCNT_EP_RECV_UD), 1U);
    EXPECT_EQ(counter(both.other, DCNT_EP_RECV_UD_DATA), DAT_UINT64{kRouteHeader + 5});
    EXPECT_EQ(counter(both.other, DCNT_EP_RECV), 0U);
    EXPECT_EQ(counter(both.side.ia, DCNT_IA_CM_AH_REQ_TX), 1U);
    EXPECT_EQ(counter(both.side.ia, DCNT_IA_CM_AH_REQ_RX), 1U);
    EXPECT_EQ(counter(both.side.ia, DCNT_IA_CM_REQ_RX), 0U);
    EXPECT_EQ(counter(both.side.ia, DCNT_IA_CM_AH_RESOLVED), 2U) << "by both ends";
    EXPECT_EQ(counter(both.side.connections, DCNT_EVD_CONN_CALLBACK), 2U);

    succeed(Side::connect(both.asker, kQualifier), "dat_ep_connect");
    succeed(dat_cr_reject(both.side.datagram_request(), 0, nullptr), "dat_cr_reject");
    both.side.outcome(DAT_IB_UD_CONNECTION_REJECT_EVENT, both.asker);
    EXPECT_EQ(counter(both.side.ia, DCNT_IA_CM_USER_REJ_TX), 1U);
    EXPECT_EQ(counter(both.side.ia, DCNT_IA_CM_USER_REJ_RX), 1U);
}

TEST_F(Ud, two_endpoints_tell_each_other_where_they_are_and_messages_go_both_ways) {
    Child child([](Channel& channel) {
        UdSide side;
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.datagrams();
        Buffer in(side), out(side);
        UdSide::post_receive(ep, in);
        const DAT_CR_HANDLE cr = side.datagram_request();
        DAT_CR_PARAM parameters{};
        succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
        require(parameters.private_data_size == 12 &&
                    std::memcmp(parameters.private_data, "who are you?", 12) == 0,
                "the request's data, in its exact size");
        succeed(UdSide::accept(cr, ep, "me"), "dat_cr_accept");
        const DAT_EVENT event = side.resolved(ep, DAT_IB_UD_PASSIVE_REMOTE_AH);
        require(private_data_of(event) == "who are you?", "whose address it is");
        DAT_UINT32 from = 0;
        require(side.receive(ep, in, from) == "hello", "the message");
        const auto to = extension_of(event).remote_ah;
        require(from == to.qpn, "who has sent it");
        side.send(ep, out, "and to you", to);
        channel.meet();
    });
    UdSide side;
    DAT_EP_HANDLE ep = side.datagrams();
    Buffer in(side), out(side);
    UdSide::post_receive(ep, in);
    child.channel().receive<char>();
    succeed(Side::connect(ep, kQualifier, "who are you?"), "dat_ep_connect");
    const DAT_EVENT event = side.resolved(ep);
    EXPECT_EQ(private_data_of(event), "me");
    const auto to = extension_of(event).remote_ah;
    const sockaddr_storage where = address_for(kQualifier);
    EXPECT_TRUE(same_address(&to.ia_addr, &where));
    side.send(ep, out, "hello", to);
    DAT_UINT32 from = 0;
    EXPECT_EQ(side.receive(ep, in, from), "and to you");
    EXPECT_EQ(from, to.qpn);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED) << "nothing is connected";
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ud, one_endpoint_answers_many_peers_and_asks_many_and_each_hears_its_own) {
    constexpr int kPeers = 8;
    Child child([](Channel& channel) {
        UdSide side;
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.datagrams();
        Buffer out(side);
        for (int i = 0; i < kPeers; ++i) {
            succeed(UdSide::accept(side.datagram_request(), ep, "the same"), "dat_cr_accept");
            const DAT_EVENT event = side.resolved(ep, DAT_IB_UD_PASSIVE_REMOTE_AH);
            side.send(ep, out, private_data_of(event), extension_of(event).remote_ah);
        }
        channel.meet();
        // The reverse direction, with all requests in flight at the same time.
        for (DAT_CONN_QUAL i = 0; i < kPeers; ++i)
            succeed(Side::connect(ep, kQualifier + 1 + i), "dat_ep_connect");
        std::map<DAT_UINT32, int> numbers;
        for (int i = 0; i < kPeers; ++i) ++numbers[extension_of(side.resolved(ep)).remote_ah.qpn];
        require(numbers.size() == kPeers, "each peer has its own queue pair");
        channel.meet();
    });
    UdSide side;
    child.channel().receive<char>();
    DAT_EP_HANDLE eps[kPeers];
    for (int i = 0; i < kPeers; ++i) {
        eps[i] = side.datagrams();
        Buffer in(side);
        UdSide::post_receive(eps[i], in);
        const std::string name = "peer " + std::to_string(i);
        side.ask(eps[i], kQualifier, name);
        DAT_UINT32 from = 0;
        EXPECT_EQ(side.receive(eps[i], in, from), name);
        side.listen(kQualifier + 1 + static_cast<DAT_CONN_QUAL>(i));
    }
    child.channel().meet();
    for (int i = 0; i < kPeers; ++i)
        succeed(UdSide::accept(side.datagram_request(), eps[i]), "dat_cr_accept");
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ud, a_rejection_comes_as_an_event_of_its_own_with_the_peers_data) {
    UdSide side;
    side.listen(kQualifier);
    DAT_EP_HANDLE ep = side.datagrams();
    for (const std::string& data : {std::string("not you"), std::string()}) {
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        succeed(dat_cr_reject(side.datagram_request(), static_cast<DAT_COUNT>(data.size()),
                              const_cast<char*>(data.data())),
                "dat_cr_reject");
        const DAT_EVENT event = side.outcome(DAT_IB_UD_CONNECTION_REJECT_EVENT, ep);
        EXPECT_EQ(extension_of(event).type, DAT_IB_UD_CONNECT_REJECT);
        EXPECT_EQ(extension_of(event).status, DAT_IB_OP_ERR);
        EXPECT_EQ(private_data_of(event), data);
    }
}

TEST_F(Ud, where_nobody_listens_the_request_is_rejected) {
    UdSide side;
    side.leave_address(kQualifier);
    DAT_EP_HANDLE ep = side.datagrams();
    const std::string told = captured_stderr([&] {
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        const DAT_EVENT event = side.outcome(DAT_IB_UD_CONNECTION_REJECT_EVENT, ep);
        EXPECT_EQ(extension_of(event).type, DAT_IB_UD_CONNECT_REJECT);
    });
    EXPECT_NE(told.find("[DAT207]"), std::string::npos) << told;
    if (is_soft0()) {
        EXPECT_NE(told.find("nobody listens there for datagrams"), std::string::npos) << told;
    }
}

TEST_F(Ud, when_the_time_is_over_the_outcome_is_an_error_and_a_late_answer_finds_nobody) {
    UdSide side;
    side.listen(kQualifier);
    DAT_EP_HANDLE ep = side.datagrams(), other = side.datagrams();
    DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
    captured_stderr([&] {
        const DAT_TIMEOUT enough_to_arrive = in_microseconds(scaled(1s));
        succeed(Side::connect(ep, kQualifier, {}, enough_to_arrive), "dat_ep_connect");
        cr = side.datagram_request();
        const DAT_EVENT event = side.outcome(DAT_IB_UD_CONNECTION_ERROR_EVENT, ep);
        EXPECT_EQ(extension_of(event).type, DAT_IB_UD_CONNECT_ERROR);
        EXPECT_EQ(extension_of(event).status, DAT_IB_OP_ERR);
    });
    UdSide::accept(cr, other);
    succeed(dat_ep_free(ep), "dat_ep_free");
    side.connections = side.evd(DAT_EVD_CONNECTION_FLAG, 8);
    Side::expect_empty(side.connections);
}

TEST_F(Ud, what_a_datagram_endpoint_cannot_do_is_refused_and_what_means_nothing_to_it_is_done) {
    Couple pair;
    pair.meet();
    Buffer buffer(pair.side);
    DAT_LMR_TRIPLET local = buffer.all();
    DAT_RMR_TRIPLET remote{};
    const auto none = DAT_COMPLETION_DEFAULT_FLAG;
    DAT_EP_HANDLE ep = pair.asker;
    EXPECT_EQ(dat_ep_post_send(ep, 1, &local, cookie(1), none), kBadEndpoint);
    EXPECT_EQ(dat_ep_post_rdma_write(ep, 1, &local, cookie(1), &remote, none), kBadEndpoint);
    EXPECT_EQ(dat_ep_post_rdma_read(ep, 1, &local, cookie(1), &remote, none), kBadEndpoint);
    EXPECT_EQ(dat_ib_post_rdma_write_immed(ep, 1, &local, cookie(1), &remote, 3, none),
              kBadEndpoint);
    DAT_EP_HANDLE connected = pair.side.endpoint();
    EXPECT_EQ(UdSide::post(connected, local, pair.to_other), kBadEndpoint);
    EXPECT_EQ(UdSide::post(ep, local, {}), bad_argument(4)) << "no address handle";
    DAT_IB_ADDR_HANDLE beyond = pair.to_other;
    beyond.qpn = 0x1000000;
    EXPECT_EQ(UdSide::post(ep, local, beyond), bad_argument(4)) << "no queue pair's number";
    Buffer large(pair.side, 5000);
    EXPECT_EQ(DAT_GET_TYPE(UdSide::post(ep, large.all(), pair.to_other)),
              static_cast<DAT_RETURN>(DAT_LENGTH_ERROR))
        << "more than a packet";
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(dat_ep_reset(ep), DAT_SUCCESS);
    Buffer in(pair.side);
    UdSide::post_receive(pair.other, in);
    pair.side.send(ep, buffer, "still there", pair.to_other);
    DAT_UINT32 from = 0;
    EXPECT_EQ(pair.side.receive(pair.other, in, from), "still there");
}

TEST_F(Ud, requests_are_served_by_endpoints_of_their_own_kind) {
    UdSide side;
    side.listen(kQualifier);
    DAT_EP_HANDLE datagrams = side.datagrams(), connected = side.endpoint();
    succeed(Side::connect(datagrams, kQualifier), "dat_ep_connect");
    DAT_CR_HANDLE cr = side.datagram_request();
    EXPECT_EQ(UdSide::accept(cr, connected), kBadEndpoint);
    succeed(dat_cr_reject(cr, 0, nullptr), "dat_cr_reject");
    side.outcome(DAT_IB_UD_CONNECTION_REJECT_EVENT, datagrams);
    succeed(Side::connect(connected, kQualifier), "dat_ep_connect");
    cr = side.request();
    EXPECT_EQ(UdSide::accept(cr, datagrams), kBadEndpoint);
    succeed(dat_cr_reject(cr, 0, nullptr), "dat_cr_reject");
    side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, connected);
}

TEST_F(Ud, a_reserved_service_point_has_the_datagram_endpoint_until_it_is_accepted) {
    UdSide side;
    DAT_EP_HANDLE asker = side.datagrams(), reserved = side.datagrams();
    DAT_EP_HANDLE connected = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    side.leave_address(kQualifier);
    succeed(dat_rsp_create(side.ia, kQualifier, reserved, side.requests, &rsp), "dat_rsp_create");
    EXPECT_EQ(Side::state(reserved), DAT_EP_STATE_RESERVED);
    captured_stderr([&] {  // over rdma_cm the refusal is reported
        succeed(Side::connect(connected, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, connected);
    });
    succeed(Side::connect(asker, kQualifier), "dat_ep_connect");
    const DAT_CR_HANDLE cr = side.datagram_request();
    EXPECT_EQ(Side::state(reserved), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    succeed(UdSide::accept(cr, DAT_HANDLE_NULL), "dat_cr_accept");
    EXPECT_EQ(Side::state(reserved), DAT_EP_STATE_UNCONNECTED);
    for (int i = 0; i < 2; ++i)
        Side::wait(side.connections,
                   static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED));
    succeed(dat_rsp_free(rsp), "dat_rsp_free");
    succeed(dat_ep_free(reserved), "dat_ep_free");
}

TEST_F(Ud, a_service_point_that_makes_endpoints_makes_one_of_the_requests_kind) {
    UdSide side;
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    side.leave_address(kQualifier);
    succeed(dat_psp_create(side.ia, kQualifier, side.requests, DAT_PSP_PROVIDER_FLAG, &psp),
            "dat_psp_create");
    DAT_EP_HANDLE asker = side.datagrams();
    succeed(Side::connect(asker, kQualifier), "dat_ep_connect");
    const DAT_CR_HANDLE cr = side.datagram_request();
    DAT_CR_PARAM request{};
    succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
    DAT_EP_PARAM made{};
    succeed(dat_ep_query(request.local_ep_handle, DAT_EP_FIELD_ALL, &made), "dat_ep_query");
    EXPECT_EQ(made.ep_attr.service_type, static_cast<DAT_SERVICE_TYPE>(DAT_IB_SERVICE_TYPE_UD));
    made.pz_handle = side.pz;
    made.recv_evd_handle = side.receives;
    made.request_evd_handle = side.sends;
    made.connect_evd_handle = side.connections;
    succeed(dat_ep_modify(request.local_ep_handle,
                          DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                              DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
                          &made),
            "dat_ep_modify");
    succeed(UdSide::accept(cr, DAT_HANDLE_NULL), "dat_cr_accept");
    Buffer in(side), out(side);
    UdSide::post_receive(request.local_ep_handle, in);
    DAT_IB_ADDR_HANDLE to{};
    for (int i = 0; i < 2; ++i) {
        const DAT_EVENT event =
            Side::wait(side.connections,
                       static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED));
        const auto extension = extension_of(event);
        if (extension.type == DAT_IB_UD_REMOTE_AH) to = extension.remote_ah;
    }
    side.send(asker, out, "made for this", to);
    DAT_UINT32 from = 0;
    EXPECT_EQ(side.receive(request.local_ep_handle, in, from), "made for this");
}

TEST_F(Ud, an_endpoint_tells_its_service_type_and_no_more_than_a_packets_size) {
    UdSide side;
    DAT_EP_ATTR wanted = UdSide::attributes_of_ep();
    wanted.max_message_size = 1024;
    DAT_EP_HANDLE small = DAT_HANDLE_NULL, ep = side.datagrams();
    succeed(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections, &wanted,
                          &small),
            "dat_ep_create");
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(small, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    EXPECT_EQ(parameters.ep_attr.max_message_size, 1024u);
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    EXPECT_EQ(parameters.ep_attr.service_type,
              static_cast<DAT_SERVICE_TYPE>(DAT_IB_SERVICE_TYPE_UD));
    EXPECT_EQ(std::to_string(parameters.ep_attr.max_message_size),
              side.named("DAT_IB_TRANSPORT_MTU"));
    EXPECT_EQ(parameters.ep_attr.max_rdma_read_in, 0);
    EXPECT_EQ(parameters.ep_attr.max_rdma_size, 0u);
    EXPECT_EQ(parameters.ep_state, DAT_EP_STATE_UNCONNECTED);
    parameters.ep_attr.service_type = DAT_SERVICE_TYPE_RC;
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &parameters), bad_argument(3));
}

TEST_F(Ud, the_named_attribute_says_that_datagrams_are_there) {
    UdSide side;
    EXPECT_EQ(side.named(DAT_IB_ATTR_UD), "TRUE");
}

TEST_F(Ud, an_address_handle_lives_until_it_or_its_endpoint_is_freed) {
    Couple pair;
    pair.meet();
    EXPECT_EQ(dat_ib_ud_ah_free(pair.other, &pair.to_other), bad_argument(2)) << "another's";
    EXPECT_EQ(dat_ib_ud_ah_free(pair.asker, nullptr), bad_argument(2));
    EXPECT_EQ(dat_ib_ud_ah_free(pair.asker, &pair.to_other), DAT_SUCCESS);
    EXPECT_EQ(dat_ib_ud_ah_free(pair.asker, &pair.to_other), bad_argument(2)) << "freed";
    EXPECT_EQ(dat_ib_ud_ah_free(pair.side.endpoint(), &pair.to_asker), kBadEndpoint);
    succeed(dat_ep_free(pair.asker), "dat_ep_free");
    succeed(dat_ep_free(pair.other), "dat_ep_free with an address handle");
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    succeed(dat_pz_create(pair.side.ia, &pz), "dat_pz_create");
    succeed(dat_pz_free(pz), "dat_pz_free");
}

TEST_F(Ud, the_private_data_of_an_event_lives_until_its_exchange_or_its_endpoint_is_freed) {
    UdSide side;
    side.listen(kQualifier);
    DAT_EP_HANDLE asker = side.datagrams(), other = side.datagrams();
    std::map<std::string, DAT_EVENT> events;
    for (const std::string name : {"one", "two", "three"}) {
        succeed(Side::connect(asker, kQualifier, name), "dat_ep_connect");
        succeed(UdSide::accept(side.datagram_request(), other, name + " too"), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) {
            const DAT_EVENT event =
                Side::wait(side.connections,
                           static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED));
            if (extension_of(event).type == DAT_IB_UD_REMOTE_AH) events[name] = event;
        }
    }
    for (const auto& [name, event] : events) EXPECT_EQ(private_data_of(event), name + " too");
    const DAT_CONTEXT exchange = extension_of(events["two"]).context;
    EXPECT_EQ(dat_extension_op(asker, DAT_IB_UD_CM_FREE_OP, exchange), DAT_SUCCESS);
    EXPECT_EQ(dat_extension_op(asker, DAT_IB_UD_CM_FREE_OP, exchange), bad_argument(2));
    EXPECT_EQ(private_data_of(events["three"]), "three too");
}

TEST_F(Ud, an_endpoint_receives_from_a_shared_receive_queue) {
    Couple pair;
    DAT_SRQ_ATTR queue{};
    queue.max_recv_dtos = 8;
    queue.max_recv_iov = 1;
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    succeed(dat_srq_create(pair.side.ia, pair.side.pz, &queue, &srq), "dat_srq_create");
    DAT_EP_ATTR wanted = UdSide::attributes_of_ep();
    DAT_EP_HANDLE shared = DAT_HANDLE_NULL;
    succeed(dat_ep_create_with_srq(pair.side.ia, pair.side.pz, pair.side.receives, pair.side.sends,
                                   pair.side.connections, srq, &wanted, &shared),
            "dat_ep_create_with_srq");
    pair.other = shared;
    Buffer in(pair.side), out(pair.side);
    DAT_LMR_TRIPLET local = in.all();
    succeed(dat_srq_post_recv(srq, 1, &local, cookie(5)), "dat_srq_post_recv");
    pair.meet();
    pair.side.send(pair.asker, out, "shared", pair.to_other);
    DAT_UINT32 from = 0;
    EXPECT_EQ(pair.side.receive(shared, in, from), "shared");
    EXPECT_EQ(from, pair.to_asker.qpn);
}

TEST_F(Ud, what_is_posted_when_an_endpoint_is_freed_comes_back_flushed) {
    Couple pair;
    Buffer in(pair.side);
    UdSide::post_receive(pair.other, in);
    succeed(dat_ep_free(pair.other), "dat_ep_free");
    const DAT_EVENT event = Side::wait(pair.side.receives, DAT_DTO_COMPLETION_EVENT);
    EXPECT_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
    EXPECT_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 5u);
}

TEST_F(Ud, messages_to_a_peer_that_has_died_are_sent_and_lost) {
    Child child([](Channel& channel) {
        UdSide side;
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.datagrams();
        side.answer(ep);
        channel.meet();
        channel.receive<char>();
    });
    UdSide side;
    child.channel().receive<char>();
    DAT_EP_HANDLE ep = side.datagrams();
    const DAT_IB_ADDR_HANDLE to = side.ask(ep, kQualifier);
    child.channel().meet();
    child.kill();
    EXPECT_EQ(child.wait(), 128 + SIGKILL);
    Buffer out(side);
    for (int i = 0; i < 4; ++i) side.send(ep, out, "anybody?", to);
    Side::expect_empty(side.connections);
}

TEST_F(Ud, an_endpoint_whose_send_failed_says_so_and_works_again_after_a_reset) {
    Couple pair;
    pair.meet();
    Buffer buffer(pair.side);
    DAT_LMR_TRIPLET wrong = buffer.all();
    wrong.lmr_context ^= 0x5500;
    succeed(UdSide::post(pair.asker, wrong, pair.to_other), "dat_ib_post_send_ud");
    const DAT_EVENT failed =
        Side::wait(pair.side.sends, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
    EXPECT_NE(failed.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
    const DAT_EVENT event = pair.side.outcome(DAT_IB_UD_CONNECTION_ERROR_EVENT, pair.asker);
    EXPECT_EQ(extension_of(event).type, DAT_IB_UD_CONNECT_ERROR);
    succeed(dat_ep_reset(pair.asker), "dat_ep_reset");
    pair.meet();
    Buffer in(pair.side);
    UdSide::post_receive(pair.other, in);
    pair.side.send(pair.asker, buffer, "again", pair.to_other);
    DAT_UINT32 from = 0;
    EXPECT_EQ(pair.side.receive(pair.other, in, from), "again");
}

}  // namespace
