// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software device's rdma_cm: how connections begin and end, without queue pairs.
#include <gtest/gtest.h>

#include "test/softverbs/cm_server.hpp"

using namespace test;

namespace {

std::string padded(const std::string& text, std::size_t size) {
    std::string result = text;
    result.resize(size);
    return result;
}

TEST(Cm, APrivateDataRoundTripIsPaddedAsInfiniBandDoes) {
    TemporaryFabric fabric;
    Server server([](Channel& pipe, EventQueue& events, Id&) {
        FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        require(request.data() == padded("hello", 56), "56 bytes, zeros behind");
        require(request->param.conn.qp_num == 0x123, "the client's QP number");
        require(request->param.conn.responder_resources == 3, "the client's depth");
        require(request->param.conn.initiator_depth == 4, "the client's resources");
        require(request->param.conn.rnr_retry_count == 6, "the client's RNR retries");
        Id id(request->id);
        require(id->verbs && id->pd && id->port_num == 1, "a child knows the device");
        accept(id, "welcome");
        FetchedEvent established = events.next(RDMA_CM_EVENT_ESTABLISHED);
        require(established->param.conn.private_data_len == 0, "no data comes with it");
        require(!established->param.conn.private_data, "no data comes with it");
        events.next(RDMA_CM_EVENT_DISCONNECTED);
        check(rdma_disconnect(id.get()), "rdma_disconnect");
        events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
        pipe.meet();
    });
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    EXPECT_TRUE(id->verbs && id->pd && id->route.path_rec);
    EXPECT_NE(rdma_get_src_port(id.get()), 0);
    EXPECT_EQ(rdma_get_dst_port(id.get()), server.address().sin_port);
    connect(id, "hello");
    {
        FetchedEvent response = events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
        EXPECT_EQ(response.data(), padded("welcome", 196));
        EXPECT_EQ(response->param.conn.qp_num, 0x456u);
    }
    check(rdma_establish(id.get()), "rdma_establish");
    check(rdma_disconnect(id.get()), "rdma_disconnect");
    events.next(RDMA_CM_EVENT_DISCONNECTED);
    events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
    server.pipe().meet();
    EXPECT_FALSE(events.readable()) << "exactly one DISCONNECTED";
    EXPECT_EQ(server.child().wait(), 0);
}

TEST(Cm, ARejectCarriesItsData) {
    TemporaryFabric fabric;
    Server server([](Channel&, EventQueue& events, Id&) {
        FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        Id id(request->id);
        check(rdma_reject(id.get(), "no", 2), "rdma_reject");
    });
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    connect(id);
    FetchedEvent rejected = events.next(RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(rejected->status, 28);
    EXPECT_EQ(rejected.data(), padded("no", 148));
    EXPECT_EQ(server.child().wait(), 0);
}

TEST(Cm, AChildThatIsDestroyedUnansweredRejects) {
    TemporaryFabric fabric;
    Server server([](Channel&, EventQueue& events, Id&) {
        Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    });
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    connect(id);
    EXPECT_EQ(events.next(RDMA_CM_EVENT_REJECTED)->status, 28);
    EXPECT_EQ(server.child().wait(), 0);
}

TEST(Cm, WithoutAListenerTheConnectionIsRejectedAsAnInvalidService) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    resolve(events, id, address("127.0.0.1", 4711));
    connect(id);
    FetchedEvent rejected = events.next(RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(rejected->status, 8);
    EXPECT_EQ(rejected->param.conn.private_data_len, 148);
}

TEST(Cm, PrivateDataThatDoesNotFitIsRefusedAtOnce) {
    TemporaryFabric fabric;
    EventQueue events;
    Id listening = listener(events);
    Id id(events);
    resolve(events, id, address("127.0.0.1", port_of(listening)));
    rdma_conn_param param = parameters(std::string(57, 'x'));
    errno = 0;
    EXPECT_EQ(rdma_connect(id.get(), &param), -1);
    EXPECT_EQ(errno, EINVAL);
    connect(id, std::string(56, 'x'));
    FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(request.data(), std::string(56, 'x'));
    Id child(request->id);
    param = parameters(std::string(197, 'y'));
    EXPECT_EQ(rdma_accept(child.get(), &param), -1);
    EXPECT_EQ(rdma_reject(child.get(), std::string(149, 'y').data(), 149), -1);
    accept(child, std::string(196, 'y'));
    EXPECT_EQ(events.next(RDMA_CM_EVENT_CONNECT_RESPONSE).data(), std::string(196, 'y'));
}

TEST(Cm, AProcessConnectsToItself) {
    TemporaryFabric fabric;
    EventQueue events;
    EventQueue server_events;
    Id listening = listener(server_events);
    Id id(events);
    resolve(events, id, address("127.0.0.1", port_of(listening)));
    connect(id, "me");
    FetchedEvent request = server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
    Id child(request->id);
    EXPECT_EQ(request->listen_id, listening.get());
    accept(child);
    events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
    check(rdma_establish(id.get()), "rdma_establish");
    server_events.next(RDMA_CM_EVENT_ESTABLISHED);
    check(rdma_disconnect(child.get()), "rdma_disconnect");
    events.next(RDMA_CM_EVENT_DISCONNECTED);
    server_events.next(RDMA_CM_EVENT_DISCONNECTED);
}

TEST(Cm, ADisconnectFromBothSidesGivesEachExactlyOneEvent) {
    TemporaryFabric fabric;
    EventQueue events, server_events;
    Id listening = listener(server_events);
    for (int round = 0; round < scaled(50); ++round) {
        Id id(events);
        resolve(events, id, address("127.0.0.1", port_of(listening)));
        connect(id);
        Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
        accept(child);
        events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
        check(rdma_establish(id.get()), "rdma_establish");
        server_events.next(RDMA_CM_EVENT_ESTABLISHED);
        Thread other([&] { rdma_disconnect(child.get()); });
        rdma_disconnect(id.get());
        other.join();
        events.next(RDMA_CM_EVENT_DISCONNECTED);
        server_events.next(RDMA_CM_EVENT_DISCONNECTED);
        ASSERT_FALSE(events.readable());
        ASSERT_FALSE(server_events.readable());
    }
}

TEST(Cm, ARequestThatIsTakenBackReachesTheServersChild) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    connect(id);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    id.destroy();
    EXPECT_EQ(server_events.next(RDMA_CM_EVENT_REJECTED)->id, child.get());
    rdma_conn_param param = parameters("");
    EXPECT_EQ(rdma_accept(child.get(), &param), -1);
}

TEST(Cm, AListenerThatIsDestroyedRejectsWhatNobodyHasFetched) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    connect(id);
    ASSERT_TRUE(server_events.readable(kDeadline));
    listening.destroy();
    EXPECT_EQ(events.next(RDMA_CM_EVENT_REJECTED)->status, 28);
    EXPECT_FALSE(server_events.readable());
}

}  // namespace
