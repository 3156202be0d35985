// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software device's rdma_cm: addresses, ports and names.
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <vector>

#include "test/softverbs/cm_server.hpp"

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

sockaddr_in6 address6(const in6_addr& ip, int port) {
    sockaddr_in6 result = {};
    result.sin6_family = AF_INET6;
    result.sin6_port = htons(static_cast<std::uint16_t>(port));
    result.sin6_addr = ip;
    return result;
}

int bind6(const Id& id, const in6_addr& ip, int port) {
    sockaddr_in6 to = address6(ip, port);
    return rdma_bind_addr(id.get(), reinterpret_cast<sockaddr*>(&to));
}

void set_one_family(const Id& id, int value) {
    check(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &value, sizeof value),
          "RDMA_OPTION_ID_AFONLY");
}

TEST(Cm, AnyAddressOfEitherFamilyBindsOnePortWhereEachIsForItsFamilyAlone) {
    TemporaryFabric fabric;
    EventQueue events;
    Id v4(events);
    set_one_family(v4, 1);
    Id v6(events);
    set_one_family(v6, 1);
    EXPECT_EQ(v4.bind(address("0.0.0.0", 7000)), 0);
    EXPECT_EQ(bind6(v6, in6addr_any, 7000), 0) << strerror(errno);
    EXPECT_EQ(rdma_listen(v4.get(), 0), 0);
    EXPECT_EQ(rdma_listen(v6.get(), 0), 0) << strerror(errno);
    EXPECT_EQ(Id(events).bind(address("0.0.0.0", 7000)), -1);
    EXPECT_EQ(bind6(Id(events), in6addr_any, 7000), -1) << "this one is for both families";
    EXPECT_EQ(rdma_get_local_addr(v4.get())->sa_family, AF_INET);
    EXPECT_EQ(rdma_get_local_addr(v6.get())->sa_family, AF_INET6);
}

TEST(Cm, AnyIpv6AddressConflictsWithIpv4UnlessItIsForItsFamilyAlone) {
    TemporaryFabric fabric;
    EventQueue events;
    Id both(events);
    ASSERT_EQ(bind6(both, in6addr_any, 7000), 0);
    EXPECT_EQ(Id(events).bind(address("0.0.0.0", 7000)), -1);
    EXPECT_EQ(errno, EADDRINUSE);
    EXPECT_EQ(Id(events).bind(address("127.0.0.1", 7000)), -1);
    int one = 1;
    EXPECT_EQ(rdma_set_option(both.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof one),
              -1)
        << "too late";
}

/// Connects to the address. @return the type of the event that this leads to.
template <class Address>
int outcome_of(Address to) {
    EventQueue events;
    Id id(events);
    check(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 1000),
          "rdma_resolve_addr");
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    check(rdma_resolve_route(id.get(), 1000), "rdma_resolve_route");
    events.next(RDMA_CM_EVENT_ROUTE_RESOLVED);
    connect(id);
    const FetchedEvent event = events.next();
    EXPECT_TRUE(event->event != RDMA_CM_EVENT_REJECTED || event->status == 8) << event->status;
    return event->event;
}

TEST(Cm, AListenerForOneFamilyAloneIsNotReachedByTheOther) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        EventQueue events;
        Id v4 = listener(events, "0.0.0.0", 7000);
        Id v6(events);
        set_one_family(v6, 1);
        check(bind6(v6, in6addr_any, 7001), "rdma_bind_addr");
        check(rdma_listen(v6.get(), 0), "rdma_listen");
        pipe.meet();
        for (int i = 0; i < 2; ++i) {
            Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
            accept(id);
            pipe.meet();
        }
    });
    server.channel().meet();
    EXPECT_EQ(outcome_of(address6(in6addr_loopback, 7000)), RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(outcome_of(address("127.0.0.1", 7001)), RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(outcome_of(address("127.0.0.1", 7000)), RDMA_CM_EVENT_CONNECT_RESPONSE);
    server.channel().meet();
    EXPECT_EQ(outcome_of(address6(in6addr_loopback, 7001)), RDMA_CM_EVENT_CONNECT_RESPONSE);
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

TEST(Cm, AListenerOnOneAddressOfThisMachineAnswersOnTheOthersToo) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        EventQueue events;
        Id listening = listener(events, "127.0.0.1", 7000);
        pipe.meet();
        for (int i = 0; i < 3; ++i) {
            Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
            accept(id);
            pipe.meet();
        }
    });
    server.channel().meet();
    EXPECT_EQ(outcome_of(address("127.0.0.1", 7000)), RDMA_CM_EVENT_CONNECT_RESPONSE);
    server.channel().meet();
    EXPECT_EQ(outcome_of(address("127.1.2.3", 7000)), RDMA_CM_EVENT_CONNECT_RESPONSE);
    server.channel().meet();
    EXPECT_EQ(outcome_of(address6(in6addr_loopback, 7000)), RDMA_CM_EVENT_CONNECT_RESPONSE);
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

/// Addresses of this machine's interfaces, without loopback and link-local ones.
std::vector<sockaddr_storage> addresses_of_interfaces() {
    std::vector<sockaddr_storage> found;
    ifaddrs* interfaces = nullptr;
    check(getifaddrs(&interfaces), "getifaddrs");
    for (const ifaddrs* entry = interfaces; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
        sockaddr_storage own{};
        if (entry->ifa_addr->sa_family == AF_INET)
            std::memcpy(&own, entry->ifa_addr, sizeof(sockaddr_in));
        else if (entry->ifa_addr->sa_family == AF_INET6)
            std::memcpy(&own, entry->ifa_addr, sizeof(sockaddr_in6));
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(own);
        const bool is_of_link = own.ss_family == AF_INET6 && v6.sin6_scope_id != 0;
        if (own.ss_family != 0 && !is_of_link) found.push_back(own);
    }
    freeifaddrs(interfaces);
    return found;
}

sockaddr_storage with_port(sockaddr_storage address, int port) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

TEST(Cm, EveryAddressOfThisMachineIsBoundAndReached) {
    const std::vector<sockaddr_storage> own = addresses_of_interfaces();
    if (own.empty()) GTEST_SKIP() << "this machine has loopback addresses alone";
    TemporaryFabric fabric;
    Child server([&](Channel& pipe) {
        EventQueue events;
        Id everywhere = listener(events, "127.0.0.1", 7000);
        std::vector<Id> listening;
        for (const sockaddr_storage& address : own) {
            sockaddr_storage to = with_port(address, 7001);
            listening.emplace_back(events);
            check(rdma_bind_addr(listening.back().get(), reinterpret_cast<sockaddr*>(&to)),
                  "rdma_bind_addr");
            check(rdma_listen(listening.back().get(), 0), "rdma_listen");
        }
        pipe.meet();
        for (std::size_t i = 0; i < 2 * own.size(); ++i) {
            Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
            accept(id);
            pipe.meet();
        }
    });
    server.channel().meet();
    for (const sockaddr_storage& address : own)
        for (const int port : {7000, 7001}) {
            EXPECT_EQ(outcome_of(with_port(address, port)), RDMA_CM_EVENT_CONNECT_RESPONSE) << port;
            server.channel().meet();
        }
    EXPECT_EQ(server.wait(), 0);
}

TEST(Cm, APortThatWasTriedOnALoopbackAddressIsTheNextOneThere) {
    TemporaryFabric fabric;
    EventQueue events;
    ASSERT_EQ(Id(events).bind(address("127.0.0.1", 7000)), 0);
    Id other(events);
    ASSERT_EQ(other.bind(address("127.0.0.2", 0)), 0);
    EXPECT_NE(port_of(other), 7000) << "another address";
    ASSERT_EQ(Id(events).bind(address("127.0.0.1", 7000)), 0);
    Id listening = listener(events, "127.0.0.1", 0);
    EXPECT_EQ(port_of(listening), 7000) << "as libfabric's verbs provider expects";
    Id next(events);
    ASSERT_EQ(next.bind(address("127.0.0.1", 0)), 0);
    EXPECT_NE(port_of(next), 7000);
    listening.destroy();
    Id after(events);
    ASSERT_EQ(after.bind(address("127.0.0.1", 0)), 0);
    EXPECT_NE(port_of(after), 7000) << "somebody listened there";
}

TEST(Cm, ASourcePortOfTheCallersChoiceIsForOneConnectionWhateverItsDestination) {
    TemporaryFabric fabric;
    EventQueue events;
    sockaddr_in from = address("127.0.0.1", 7000);
    const auto resolve_from = [&](const Id& id, int destination_port) {
        sockaddr_in to = address("127.0.0.1", destination_port);
        return rdma_resolve_addr(id.get(), reinterpret_cast<sockaddr*>(&from),
                                 reinterpret_cast<sockaddr*>(&to), 1000);
    };
    Id first(events), second(events);
    ASSERT_EQ(resolve_from(first, 7001), 0);
    events.next(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_EQ(resolve_from(second, 7002), -1);
    EXPECT_EQ(errno, EADDRINUSE);
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
