// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software device's rdma_cm: addresses, ports and names.
#include <gtest/gtest.h>

#include "test/unit/cm_server.hpp"

using namespace test;

namespace {

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
