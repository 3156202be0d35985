// SPDX-License-Identifier: BSD-2-Clause
// Connections by IPv4 and IPv6 addresses, between two real processes. Both ends have the IA's own
// address; over soft0 the tests choose whether that is an IPv4 or an IPv6 address.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4741;
constexpr std::uint16_t kPort = 4742;

sockaddr_storage own_address(const Side& side) {
    DAT_IA_ATTR attributes{};
    succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
            "dat_ia_query");
    sockaddr_storage result{};
    const auto* given = reinterpret_cast<const sockaddr*>(attributes.ia_address_ptr);
    std::memcpy(&result, given,
                given->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    return result;
}

std::string host_of(const void* address) {
    char text[INET6_ADDRSTRLEN] = "?";
    sockaddr_in6 in6;
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    if (in.sin_family == AF_INET) inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    if (in.sin_family == AF_INET6) {
        std::memcpy(&in6, address, sizeof in6);
        inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
    }
    return text;
}

void set_port(sockaddr_storage& address, std::uint16_t port) {
    auto* in = reinterpret_cast<sockaddr_in*>(&address);
    in->sin_port = htons(port);
}

DAT_RETURN connect_to(DAT_EP_HANDLE ep, const void* address, DAT_CONN_QUAL qualifier = kQualifier) {
    return dat_ep_connect(ep,
                          reinterpret_cast<DAT_IA_ADDRESS_PTR>(
                              const_cast<sockaddr*>(static_cast<const sockaddr*>(address))),
                          qualifier, kMicroseconds, 0, nullptr, DAT_QOS_BEST_EFFORT,
                          DAT_CONNECT_DEFAULT_FLAG);
}

void expect_peer(DAT_EP_HANDLE ep, const Side& side, const char* which) {
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    const sockaddr_storage own = own_address(side);
    require(host_of(parameters.local_ia_address_ptr) == host_of(&own),
            std::string(which) + ": local address");
    require(host_of(parameters.remote_ia_address_ptr) == host_of(&own),
            std::string(which) + ": remote address: " + host_of(parameters.remote_ia_address_ptr));
    require(parameters.comm.domain == own.ss_family, std::string(which) + ": communicator");
}

/// Called before the connection is made: iWARP ends a connection whose message finds no receive
/// posted.
void post_receive(DAT_EP_HANDLE ep, const Buffer& to) {
    DAT_LMR_TRIPLET segment = to.all();
    succeed(dat_ep_post_recv(ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
}

void take(DAT_EVD_HANDLE evd) {
    const DAT_EVENT event = Side::wait(evd, DAT_DTO_COMPLETION_EVENT);
    require(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS, "a transfer");
}

/// Exchanges one message in each direction and checks the bytes. @param first whether this side
/// sends first.
void exchange(const Side& side, DAT_EP_HANDLE ep, const Buffer& to, bool first) {
    Buffer from(side, 64);
    from.bytes.assign(64, first ? 'f' : 's');
    if (!first) take(side.receives);
    DAT_LMR_TRIPLET segment = from.all();
    succeed(dat_ep_post_send(ep, 1, &segment, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    take(side.sends);
    if (first) take(side.receives);
    require(to.bytes == std::string(64, first ? 's' : 'f'), "the bytes of the message");
}

/// Runs each test with an IPv4 and with an IPv6 address of soft0. An IA that DAT_TEST_IA names has
/// one address, with which each test runs once.
class Addresses : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (getenv("DAT_TEST_IA") && GetParam() != kParameters[0])
            GTEST_SKIP() << "this IA has one address";
        setenv("SOFTVERBS_ADDRESS", GetParam(), 1);
    }
    void TearDown() override { unsetenv("SOFTVERBS_ADDRESS"); }
    TemporaryFabric fabric_;

  public:
    static constexpr const char* kParameters[] = {"127.0.0.1", "::1"};
};

TEST_P(Addresses, both_ends_see_each_others_address_in_its_family_and_exchange_data) {
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        Buffer buffer(side, 64);
        channel.send('l');
        const DAT_EVENT event = Side::wait(side.requests, DAT_CONNECTION_REQUEST_EVENT);
        const auto& arrival = event.event_data.cr_arrival_event_data;
        const sockaddr_storage own = own_address(side);
        require(host_of(arrival.local_ia_address_ptr) == host_of(&own),
                "the request's own address");
        DAT_CR_PARAM cr{};
        succeed(dat_cr_query(arrival.cr_handle, DAT_CR_FIELD_ALL, &cr), "dat_cr_query");
        require(host_of(cr.remote_ia_address_ptr) == host_of(&own), "the request's peer");
        DAT_EP_HANDLE ep = side.endpoint();
        post_receive(ep, buffer);
        succeed(dat_cr_accept(arrival.cr_handle, ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        expect_peer(ep, side, "server");
        exchange(side, ep, buffer, false);
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    });
    server.channel().receive<char>();
    Side side;
    const sockaddr_storage address = own_address(side);
    EXPECT_EQ(address.ss_family, std::strchr(GetParam(), ':') ? AF_INET6 : address.ss_family);
    Buffer buffer(side, 64);
    DAT_EP_HANDLE ep = side.endpoint();
    post_receive(ep, buffer);
    succeed(connect_to(ep, &address), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    expect_peer(ep, side, "client");
    exchange(side, ep, buffer, true);
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(server.wait(), 0);
}

TEST_P(Addresses, a_common_service_point_and_the_duplicate_of_a_connection_reach_the_peer) {
    Child server([](Channel& channel) {
        Side side;
        sockaddr_storage address = own_address(side);
        set_port(address, kPort);
        DAT_COMM comm{address.ss_family, SOCK_STREAM, IPPROTO_TCP};
        DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
        succeed(dat_csp_create(side.ia, &comm, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address),
                               side.requests, &csp),
                "dat_csp_create");
        DAT_CSP_PARAM parameters{};
        succeed(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &parameters), "dat_csp_query");
        require(host_of(parameters.address_ptr) == host_of(&address), "the point's address");
        sockaddr_storage other = address;
        other.ss_family = address.ss_family == AF_INET ? AF_INET6 : AF_INET;
        require(DAT_GET_TYPE(dat_csp_create(side.ia, &comm,
                                            reinterpret_cast<DAT_IA_ADDRESS_PTR>(&other),
                                            side.requests, &csp)) == DAT_INVALID_ADDRESS,
                "the other family is refused");
        channel.send('l');
        side.accept_next();
        side.accept_next();
        channel.meet();
    });
    server.channel().receive<char>();
    Side side;
    sockaddr_storage address = own_address(side);
    set_port(address, kPort);
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(dat_ep_common_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address), kMicroseconds,
                                  0, nullptr),
            "dat_ep_common_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    DAT_EP_HANDLE second = side.endpoint();
    succeed(dat_ep_dup_connect(second, ep, kMicroseconds, 0, nullptr, DAT_QOS_BEST_EFFORT),
            "dat_ep_dup_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, second);
    expect_peer(second, side, "duplicate");
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(, Addresses, testing::ValuesIn(Addresses::kParameters),
                         [](const auto& parameter) {
                             return std::strchr(parameter.param, ':') ? "IPv6" : "IPv4";
                         });

/// Tests that choose the address of soft0 and therefore run over soft0 only.
class AddressFamilies : public testing::Test {
  protected:
    void SetUp() override {
        if (getenv("DAT_TEST_IA")) GTEST_SKIP() << "about soft0";
    }
    void TearDown() override { unsetenv("SOFTVERBS_ADDRESS"); }
    TemporaryFabric fabric_;
};

void accept_one(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    side.accept_next();
    channel.meet();
}

/// Connects to `address` on an IA that has an IPv4 address.
void connect_over_ipv4(const void* address) {
    Child server(accept_one);
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(connect_to(ep, address), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    expect_peer(ep, side, "client");
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

sockaddr_in loopback(sa_family_t family) {
    sockaddr_in address{};
    address.sin_family = family;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

TEST_F(AddressFamilies, a_caller_that_leaves_the_family_unset_reaches_an_ipv4_peer) {
    const sockaddr_in address = loopback(AF_UNSPEC);
    connect_over_ipv4(&address);
}

TEST_F(AddressFamilies, a_caller_with_a_wrong_family_reaches_an_ipv4_peer) {
    const sockaddr_in address = loopback(AF_INET6);
    connect_over_ipv4(&address);
}

TEST_F(AddressFamilies, of_an_ipv4_address_no_more_than_16_bytes_are_read) {
    const long page = sysconf(_SC_PAGESIZE);
    char* two = static_cast<char*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(two, MAP_FAILED);
    ASSERT_EQ(mprotect(two + page, page, PROT_NONE), 0);
    const sockaddr_in address = loopback(AF_INET);
    std::memcpy(two + page - sizeof address, &address, sizeof address);
    connect_over_ipv4(two + page - sizeof address);
    munmap(two, 2 * page);
}

TEST_F(AddressFamilies, an_ipv4_address_in_ipv6_form_is_reached_over_ipv4) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
    connect_over_ipv4(&address);
}

void expect_unreachable(const void* address, const char* peer, const char* own) {
    const std::string told = captured_stderr([&] {
        Side side;
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(connect_to(ep, address), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_UNREACHABLE, ep);
        Side::expect_empty(side.connections);
    });
    EXPECT_NE(told.find(std::string(peer) + " cannot be reached from " + own), std::string::npos)
        << told;
    EXPECT_NE(told.find("[DAT204]"), std::string::npos) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST_F(AddressFamilies, an_ipv6_peer_is_unreachable_from_an_ipv4_address) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    expect_unreachable(&address, "[::1]:4741", "127.0.0.1");
}

TEST_F(AddressFamilies, an_ipv4_peer_is_unreachable_from_an_ipv6_address) {
    setenv("SOFTVERBS_ADDRESS", "::1", 1);
    const sockaddr_in address = loopback(AF_INET);
    expect_unreachable(&address, "127.0.0.1:4741", "[::1]");
}

}  // namespace
