// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software device's rdma_cm: connections between real processes, without queue pairs.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "test/unit/cm_fixture.hpp"

using namespace test;

namespace {

std::string padded(const std::string& text, std::size_t size) {
    std::string result = text;
    result.resize(size);
    return result;
}

/// Listens, tells its port, and does the rest.
class Server {
  public:
    using Body = std::function<void(Channel&, EventQueue&, Id& listener)>;
    explicit Server(const Body& body)
        : child_([&body](Channel& pipe) {
              EventQueue events;
              Id listening = listener(events);
              pipe.send(port_of(listening));
              body(pipe, events, listening);
          }),
          port_(child_.channel().receive<int>()) {}
    sockaddr_in address() const { return test::address("127.0.0.1", port_); }
    Child& child() { return child_; }
    Channel& pipe() { return child_.channel(); }

  private:
    Child child_;
    int port_;
};

/// A connection of the test's own process, brought up.
void establish_client(EventQueue& events, Id& id) {
    connect(id);
    events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
    check(rdma_establish(id.get()), "rdma_establish");
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
        std::thread other([&] { rdma_disconnect(child.get()); });
        rdma_disconnect(id.get());
        other.join();
        events.next(RDMA_CM_EVENT_DISCONNECTED);
        server_events.next(RDMA_CM_EVENT_DISCONNECTED);
        ASSERT_FALSE(events.readable());
        ASSERT_FALSE(server_events.readable());
    }
}

TEST(Cm, AnAddressThatIsNotOursIsAnErrorAtOnceWithAMessage) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    sockaddr_in elsewhere = address("192.0.2.7", 7000);
    const std::string told = captured_stderr([&] {
        check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&elsewhere), 1000),
              "rdma_resolve_addr");
    });
    EXPECT_EQ(events.next(RDMA_CM_EVENT_ADDR_ERROR)->status, -ENETUNREACH);
    EXPECT_NE(told.find("192.0.2.7"), std::string::npos) << told;
    EXPECT_EQ(Id(events).bind(elsewhere), -1);
}

TEST(Cm, AnAddressThatAMemberPublishesIsReached) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        setenv("SOFTVERBS_ADDRESS", "192.0.2.7", 1);
        EventQueue events;
        Id listening = listener(events, "192.0.2.7", 7000);
        pipe.meet();
        Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
        accept(id);
        events.next(RDMA_CM_EVENT_ESTABLISHED);
        pipe.meet();
    });
    server.channel().meet();
    EventQueue events;
    Id id(events);
    resolve(events, id, address("192.0.2.7", 7000));
    establish_client(events, id);
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

TEST(Cm, APortInUseIsRefusedExactlyAlsoAcrossProcesses) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        EventQueue events;
        Id listening = listener(events, "127.0.0.1", 7000);
        Id anywhere = listener(events, "0.0.0.0", 7001);
        pipe.meet();
        pipe.meet();
    });
    server.channel().meet();
    EventQueue events;
    const auto refused = [&](const char* ip, int port, rdma_port_space space = RDMA_PS_TCP) {
        errno = 0;
        return Id(events, space).bind(address(ip, port)) == -1 && errno == EADDRINUSE;
    };
    EXPECT_TRUE(refused("127.0.0.1", 7000));
    EXPECT_TRUE(refused("0.0.0.0", 7000)) << "any conflicts with each";
    EXPECT_TRUE(refused("127.0.0.1", 7001)) << "each conflicts with any";
    EXPECT_FALSE(refused("127.0.0.2", 7000)) << "another address";
    EXPECT_FALSE(refused("127.0.0.1", 7002));
    EXPECT_FALSE(refused("127.0.0.1", 7000, RDMA_PS_IB)) << "another port space";
    server.channel().meet();
    ASSERT_EQ(server.wait(), 0);
    EXPECT_FALSE(refused("127.0.0.1", 7000)) << "free again";
}

TEST(Cm, AKilledListenerDoesNotBlockItsPort) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        EventQueue events;
        Id listening = listener(events, "127.0.0.1", 7000);
        pipe.meet();
        pause();
    });
    server.channel().meet();
    server.kill();
    ASSERT_EQ(server.wait(), 128 + SIGKILL);
    EventQueue events;
    Id client(events);
    resolve(events, client, address("127.0.0.1", 7000));
    connect(client);
    EXPECT_EQ(events.next(RDMA_CM_EVENT_REJECTED)->status, 8);
    Id listening = listener(events, "127.0.0.1", 7000);
    EXPECT_EQ(port_of(listening), 7000);
}

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
    setenv("SOFTVERBS_CONNECT_TIMEOUT", "100", 1);
    server.pipe().meet();
    server.child().kill(SIGSTOP);
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    const auto start = Clock::now();
    connect(id);
    EXPECT_LT(Clock::now() - start, 10s) << "connect does not wait for the peer";
    EXPECT_EQ(events.next(RDMA_CM_EVENT_UNREACHABLE)->status, -ETIMEDOUT);
    unsetenv("SOFTVERBS_CONNECT_TIMEOUT");
}

TEST(Cm, ARequestWhoseConsumerIsSlowIsNotGivenUp) {
    TemporaryFabric fabric;
    Server server([](Channel& pipe, EventQueue& events, Id&) {
        Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
        pipe.receive<char>();
        accept(id);
        events.next(RDMA_CM_EVENT_ESTABLISHED);
    });
    setenv("SOFTVERBS_CONNECT_TIMEOUT", "400", 1);
    EventQueue events;
    Id id(events);
    resolve(events, id, server.address());
    connect(id);
    EXPECT_FALSE(events.readable(1200ms)) << "three times the timeout, and still waiting";
    server.pipe().send('g');
    events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
    check(rdma_establish(id.get()), "rdma_establish");
    unsetenv("SOFTVERBS_CONNECT_TIMEOUT");
    EXPECT_EQ(server.child().wait(), 0);
}

TEST(Cm, ARequestThatIsTakenBackReachesTheServersChild) {
    TemporaryFabric fabric;
    EventQueue events, server_events;
    Id listening = listener(server_events);
    Id id(events);
    resolve(events, id, address("127.0.0.1", port_of(listening)));
    connect(id);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    id.destroy();
    EXPECT_EQ(server_events.next(RDMA_CM_EVENT_REJECTED)->id, child.get());
    rdma_conn_param param = parameters("");
    EXPECT_EQ(rdma_accept(child.get(), &param), -1);
}

TEST(Cm, AChannelIsPollableAndHonoursNonBlocking) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    EXPECT_FALSE(events.readable());
    ASSERT_EQ(fcntl(events.get()->fd, F_SETFL, fcntl(events.get()->fd, F_GETFL) | O_NONBLOCK), 0);
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(events.get(), &event), -1);
    EXPECT_EQ(errno, EAGAIN);
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    EXPECT_TRUE(events.readable());
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_FALSE(events.readable()) << "readable exactly while events wait";
}

TEST(Cm, ABlockedReaderIsWokenByAnEvent) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    std::thread reader([&] {
        rdma_cm_event* event = nullptr;
        ASSERT_EQ(rdma_get_cm_event(events.get(), &event), 0);
        EXPECT_EQ(event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
        rdma_ack_cm_event(event);
    });
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    reader.join();
}

TEST(Cm, AThreadCancelledWhileItWaitsLeavesTheChannelUsable) {
    if (kAddressSanitizer)
        GTEST_SKIP() << "it takes the frames that a cancelled thread left for live";
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    for (int round = 0; round < scaled(50); ++round) {
        pthread_t reader;
        ASSERT_EQ(pthread_create(
                      &reader, nullptr,
                      [](void* channel) -> void* {
                          rdma_cm_event* event = nullptr;
                          rdma_get_cm_event(static_cast<rdma_event_channel*>(channel), &event);
                          return event;
                      },
                      events.get()),
                  0);
        if (round % 2) usleep(500);
        pthread_cancel(reader);
        void* result = nullptr;
        pthread_join(reader, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
    }
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST(Cm, DestroyingWaitsForTheLastAcknowledgement) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    FetchedEvent event = events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    std::atomic<bool> acknowledged{false};
    std::thread destroyer([&] {
        id.destroy();
        EXPECT_TRUE(acknowledged.load());
    });
    usleep(20'000);  // gives a wrong implementation the time to return; a right one cannot
    acknowledged = true;
    rdma_ack_cm_event(event.release());
    destroyer.join();
}

TEST(Cm, EventsGoWithAnIdentifierToAnotherChannel) {
    TemporaryFabric fabric;
    EventQueue first, second;
    Id id(first);
    sockaddr_in to = address("127.0.0.1", 1);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000), "resolve");
    check(rdma_migrate_id(id.get(), second.get()), "rdma_migrate_id");
    EXPECT_EQ(id->channel, second.get());
    EXPECT_FALSE(first.readable());
    second.next(RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST(Cm, AListenerThatIsDestroyedRejectsWhatNobodyHasFetched) {
    TemporaryFabric fabric;
    EventQueue events, server_events;
    Id listening = listener(server_events);
    Id id(events);
    resolve(events, id, address("127.0.0.1", port_of(listening)));
    connect(id);
    ASSERT_TRUE(server_events.readable(kDeadline));
    listening.destroy();
    EXPECT_EQ(events.next(RDMA_CM_EVENT_REJECTED)->status, 28);
    EXPECT_FALSE(server_events.readable());
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

TEST(Cm, NamesAreResolved) {
    rdma_addrinfo hints = {};
    hints.ai_port_space = RDMA_PS_TCP;
    rdma_addrinfo* found = nullptr;
    ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &found), 0);
    ASSERT_TRUE(found->ai_dst_addr);
    EXPECT_EQ(reinterpret_cast<sockaddr_in*>(found->ai_dst_addr)->sin_port, htons(7471));
    EXPECT_EQ(found->ai_qp_type, IBV_QPT_RC);
    rdma_freeaddrinfo(found);
    hints.ai_flags = RAI_PASSIVE;
    ASSERT_EQ(rdma_getaddrinfo(nullptr, "7471", &hints, &found), 0);
    ASSERT_TRUE(found->ai_src_addr);
    EXPECT_EQ(found->ai_src_addr->sa_family, AF_INET);
    rdma_freeaddrinfo(found);
    EXPECT_EQ(rdma_getaddrinfo("no.such.name.invalid", "1", nullptr, &found), -1);
}

}  // namespace
