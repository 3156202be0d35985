// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software device's rdma_cm: peers that die, stop, are slow, or come in large numbers.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "test/softverbs/cm_server.hpp"

using namespace test;

namespace {

TEST(Cm, WhenTheListenersProcessDiesAPendingConnectEnds) {
    TemporaryFabric fabric;
    Server server([](Channel& pipe, EventQueue& events, Id&) {
        FetchedEvent request = events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        pipe.meet();
        pause();
    });
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    connect(id);
    server.pipe().meet();
    server.child().kill();
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, -ECONNRESET);
}

TEST(Cm, WhenAPeerIsKilledEveryConnectionWithItIsDisconnected) {
    constexpr int kConnections = 20;
    TemporaryFabric fabric;
    Server server([](Channel& pipe, EventQueue& events, Id&) {
        std::vector<Id> ids;
        for (int i = 0; i < kConnections; ++i) {
            ids.emplace_back(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
            accept(ids.back());
            events.next(RDMA_CM_EVENT_ESTABLISHED);
        }
        pipe.meet();
        pause();
    });
    EventQueue events;
    std::vector<Id> ids;
    for (int i = 0; i < kConnections; ++i) {
        ids.emplace_back(events);
        resolve(events, ids.back(), server.address());
        establish_client(events, ids.back());
    }
    server.pipe().meet();
    server.child().kill();
    for (int i = 0; i < kConnections; ++i) events.next(RDMA_CM_EVENT_DISCONNECTED);
    for (int i = 0; i < kConnections; ++i) events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
    for (Id& id : ids) EXPECT_EQ(rdma_disconnect(id.get()), 0) << "as an application does then";
    EXPECT_FALSE(events.readable());
}

TEST(Cm, AStoppedPeerIsUnreachableAfterTheTimeout) {
    TemporaryFabric fabric;
    Server server([](Channel& pipe, EventQueue&, Id&) {
        pipe.meet();
        pause();
    });
    const Setting timeout("SOFTVERBS_CONNECT_TIMEOUT", "100");
    server.pipe().meet();
    server.child().kill(SIGSTOP);
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    connect(id);
    EXPECT_FALSE(events.readable()) << "connect does not wait for the peer";
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, -ETIMEDOUT);
}

TEST(Cm, ARequestWhoseConsumerIsSlowIsNotGivenUp) {
    TemporaryFabric fabric;
    Server server([](Channel& pipe, EventQueue& events, Id&) {
        Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
        pipe.receive<char>();
        accept(id);
        events.next(RDMA_CM_EVENT_ESTABLISHED);
    });
    const Setting timeout("SOFTVERBS_CONNECT_TIMEOUT", "400");
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    connect(id);
    EXPECT_FALSE(events.readable(1200ms)) << "three times the timeout, and still waiting";
    server.pipe().send('g');
    events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
    check(rdma_establish(id.get()), "rdma_establish");
    EXPECT_EQ(server.child().wait(), 0);
}

TEST(Cm, ThousandsOfConnectionsFitIntoATightDescriptorLimit) {
    const int connections = scaled(2000);
    TemporaryFabric fabric;
    const auto limit = [] {
        rlimit tight = {1024, 1024};
        require(setrlimit(RLIMIT_NOFILE, &tight) == 0, "ulimit -n 1024");
    };
    Server server([&](Channel& pipe, EventQueue& events, Id&) {
        limit();
        std::vector<Id> ids;
        for (int established = 0; established < connections;) {
            FetchedEvent event = events.next();
            if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
                ids.emplace_back(event->id);
                accept(ids.back());
            } else {
                require(event->event == RDMA_CM_EVENT_ESTABLISHED, "a connection is established");
                ++established;
            }
        }
        pipe.meet();
        for (int ended = 0; ended < connections;)
            ended += events.next()->event == RDMA_CM_EVENT_DISCONNECTED;
        pipe.meet();
    });
    Child client([&](Channel& pipe) {
        limit();
        EventQueue events;
        std::vector<Id> ids;
        for (int i = 0; i < connections; ++i) {
            ids.emplace_back(events);
            resolve(events, ids.back(), server.address());
        }
        for (Id& id : ids) connect(id);
        for (int i = 0; i < connections; ++i)
            check(rdma_establish(events.next(RDMA_CM_EVENT_CONNECT_RESPONSE)->id),
                  "rdma_establish");
        pipe.meet();
        for (Id& id : ids) check(rdma_disconnect(id.get()), "rdma_disconnect");
        for (int ended = 0; ended < connections;)
            ended += events.next()->event == RDMA_CM_EVENT_DISCONNECTED;
        pipe.meet();
    });
    client.channel().meet();
    server.pipe().meet();
    client.channel().meet();
    server.pipe().meet();
    EXPECT_EQ(client.wait(), 0);
    EXPECT_EQ(server.child().wait(), 0);
}

TEST(Cm, SimultaneousConnectsBetweenTwoProcessesBothSucceed) {
    TemporaryFabric fabric;
    const auto body = [](Channel& pipe) {
        EventQueue events;
        Id listening = listener(events);
        pipe.send(port_of(listening));
        const int port = pipe.receive<int>();
        Id id(events);
        resolve(events, id, address("127.0.0.1", port));
        pipe.meet();
        connect(id);
        std::vector<Id> children;
        int established = 0;
        while (established < 2) {
            FetchedEvent event = events.next();
            if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
                children.emplace_back(event->id);
                accept(children.back());
            } else if (event->event == RDMA_CM_EVENT_CONNECT_RESPONSE) {
                check(rdma_establish(event->id), "rdma_establish");
                ++established;
            } else {
                require(event->event == RDMA_CM_EVENT_ESTABLISHED, "established");
                ++established;
            }
        }
        pipe.meet();
    };
    for (int round = 0; round < scaled(20); ++round) {
        Child left(body), right(body);
        const int left_port = left.channel().receive<int>();
        const int right_port = right.channel().receive<int>();
        left.channel().send(right_port);
        right.channel().send(left_port);
        left.channel().receive<char>();
        right.channel().receive<char>();
        left.channel().send('g');
        right.channel().send('g');
        left.channel().receive<char>();
        right.channel().receive<char>();
        left.channel().send('g');
        right.channel().send('g');
        ASSERT_EQ(left.wait(), 0);
        ASSERT_EQ(right.wait(), 0);
    }
}

TEST(Cm, AChildAfterForkHasADeviceOfItsOwn) {
    if (kThreadSanitizer) GTEST_SKIP() << "threads after a fork confuse the sanitizer";
    TemporaryFabric fabric;
    EventQueue events;
    Id listening = listener(events);
    Child child([&](Channel&) {
        EventQueue own;
        Id id(own);
        resolve(own, id, address("127.0.0.1", port_of(listening)));
        establish_client(own, id);
        own.next(RDMA_CM_EVENT_DISCONNECTED);
    });
    Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    accept(id);
    events.next(RDMA_CM_EVENT_ESTABLISHED);
    check(rdma_disconnect(id.get()), "rdma_disconnect");
    events.next(RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
