// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "dapl/cm/private_data.hpp"
#include "device/address.hpp"
#include "providers/cma/conn_qual.hpp"
#include "providers/cma/device.hpp"
#include "providers/cma/private_data.hpp"
#include "test/support/process.hpp"

namespace {

/// One RDMA device with two ports: the first has an IPv4 address, the second an IPv6 address.
constexpr dapl::cma::Devices kMadeUp = {
    .is_rdma_device = [](const std::string& name) { return name == "made_up0"; },
    .address_of = [](const dapl::cma::DeviceName& name) -> std::optional<sockaddr_storage> {
        if (name.port > 2) return std::nullopt;
        sockaddr_storage address{};
        address.ss_family = name.port == 2 ? AF_INET6 : AF_INET;
        return address;
    },
    .explain = nullptr,
    .why_no_rdma_cm = nullptr,
    .why_no_address = nullptr,
    .why_no_device_at = nullptr,
    .explain_unreachable = false,
};

using dapl::cma::port_of;
using dapl::cma::ReceivedData;

TEST(Cma, small_qualifiers_are_ports_and_large_ones_share_the_upper_half) {
    static_assert(port_of(0) == 0 && port_of(1) == 1 && port_of(65535) == 65535);
    EXPECT_EQ(port_of(65536), 65536 % 32001 + 33534);
    EXPECT_EQ(port_of(70000), 70000 % 32001 + 33534);
    EXPECT_EQ(port_of(~0ULL), ~0ULL % 32001 + 33534);
    for (std::uint64_t rank = 1; rank < 64; ++rank) EXPECT_GE(port_of(rank << 35), 33534);
    EXPECT_EQ(port_of(65536), port_of(65536 + 32001));
}

TEST(Cma, received_data_is_padded_with_zeros_to_the_field_of_infiniband) {
    ReceivedData data;
    data.assign("abcd", 4, 56);
    EXPECT_EQ(data.all().size(), 56u);
    EXPECT_EQ(data.all()[3], std::byte{'d'});
    EXPECT_EQ(data.all()[4], std::byte{0});
    EXPECT_EQ(data.all()[55], std::byte{0});
    data.assign("xy", 2, 0);
    EXPECT_EQ(data.all().size(), 2u);
    data.assign(nullptr, 12, 0);
    EXPECT_EQ(data.all().size(), 0u);
}

TEST(Cma, a_peer_cannot_make_received_data_larger_than_its_room) {
    const std::vector<char> large(1000, 'x');
    ReceivedData data;
    data.assign(large.data(), large.size(), 0);
    EXPECT_EQ(data.all().size(), dapl::cma::kLargestData);
}

TEST(Cma, a_consumers_rejection_is_told_by_its_header_and_hands_over_what_follows) {
    const unsigned char message[] = {2, 0, 2, 0, 'n', 'o'};
    ReceivedData data;
    data.assign(message, sizeof message, 148);
    ASSERT_TRUE(data.has_reject_header());
    EXPECT_EQ(data.behind_reject_header(148).size(), 148u);
    EXPECT_EQ(data.behind_reject_header(148)[0], std::byte{'n'});
    EXPECT_EQ(data.behind_reject_header(148)[147], std::byte{0});
    data.assign(message, sizeof message, 0);
    EXPECT_EQ(data.behind_reject_header(0).size(), 2u);
    data.assign(nullptr, 0, 148);
    EXPECT_FALSE(data.has_reject_header());
    data.assign(message, 3, 0);
    EXPECT_FALSE(data.has_reject_header());
}

TEST(Cma, given_data_that_does_not_fit_or_is_not_there_names_its_argument) {
    const char bytes[64] = {};
    EXPECT_EQ(dapl::private_data(48, bytes, 56, 5, 6)->size(), 48u);
    EXPECT_EQ(dapl::private_data(0, nullptr, 56, 5, 6)->size(), 0u);
    EXPECT_EQ(dapl::private_data(57, bytes, 56, 5, 6).error().code, 0x80060029u);
    EXPECT_EQ(dapl::private_data(-1, bytes, 56, 5, 6).error().code, 0x80060029u);
    EXPECT_EQ(dapl::private_data(1, nullptr, 56, 5, 6).error().code, 0x8006002Au);
}

TEST(Cma, the_parameters_are_a_device_and_a_number) {
    const auto parsed = [](const char* text, const char* device, int port) {
        const dapl::cma::DeviceName name = dapl::cma::parse_parameters(text);
        EXPECT_EQ(name.device, device) << text;
        EXPECT_EQ(name.port, port) << text;
    };
    parsed("eth0 0", "eth0", 0);
    parsed("soft0", "soft0", 0);
    parsed("  mlx5_0\t2 x", "mlx5_0", 2);
    parsed("fe80::1%eth0 1", "fe80::1%eth0", 1);
    parsed("eth0 x", "eth0", 0);
    parsed("eth0 99999999999999", "eth0", 0);
    parsed("", "", 0);
    parsed("  ", "", 0);
}

bool finds(const char* parameters) {
    return dapl::cma::choose_address(dapl::cma::parse_parameters(parameters), kMadeUp).has_value();
}
std::string found(const char* parameters) {
    const auto choice = dapl::cma::choose_address(dapl::cma::parse_parameters(parameters), kMadeUp);
    return choice ? dapl::to_text(choice->address) : "nothing";
}

TEST(Cma, an_interface_is_found_by_its_name_and_ipv4_comes_first) {
    EXPECT_EQ(found("lo 0"), "127.0.0.1");
}

TEST(Cma, an_address_is_found_where_it_is_this_machines) {
    EXPECT_EQ(found("127.0.0.1 0"), "127.0.0.1");
    EXPECT_EQ(found("127.0.0.2"), "127.0.0.2");
    EXPECT_FALSE(finds("192.0.2.1 0"));
    EXPECT_FALSE(finds("2001:db8::1 0"));
    EXPECT_FALSE(finds("fe80::1:2:3:4%lo 0"));
}

TEST(Cma, a_host_name_is_found_where_it_is_this_machines) {
    EXPECT_EQ(found("localhost 0"), "127.0.0.1");
    EXPECT_FALSE(finds("nonesuch0.invalid"));
    EXPECT_FALSE(finds(""));
}

TEST(Cma, a_verbs_device_is_found_by_name_and_by_name_and_port) {
    EXPECT_TRUE(finds("made_up0"));
    EXPECT_TRUE(finds("made_up0 1"));
    EXPECT_EQ(found("made_up0 2"), "[::]");
    EXPECT_FALSE(finds("made_up0 3"));
}

/// Runs in a network namespace of its own, whose only interface has no IPv4 address.
TEST(Cma, an_interface_with_ipv6_alone_an_ipv6_address_and_a_link_local_one_are_found) {
    test::Child child([](test::Channel&) {
        const std::string set_up =
            "ip link set lo up && ip addr del 127.0.0.1/8 dev lo && "
            "ip -6 addr add fe80::77/64 dev lo nodad && ip -6 addr add fd77::1/64 dev lo nodad";
        if (unshare(CLONE_NEWNET) != 0 || std::system((set_up + " 2>/dev/null").c_str()) != 0)
            _exit(77);
        const std::string first = found("lo 0");
        test::require(first == "[fd77::1]" || first == "[::1]", "no link-local one: " + first);
        test::require(found("::1 0") == "[::1]", "loopback: " + found("::1 0"));
        test::require(found("fd77::1") == "[fd77::1]", "the address: " + found("fd77::1"));
        test::require(found("fe80::77%lo 0") == "[fe80::77%lo]", "a scope");
        test::require(found("fe80::77 0") == "[fe80::77%lo]", "no scope: " + found("fe80::77"));
        test::require(!finds("fe80::77%7 0"), "another interface's");
        test::require(dapl::cma::own_addresses("lo").size() == 3, "all addresses");
    });
    const int status = child.wait();
    if (status == 77) GTEST_SKIP() << "no network name space can be made here";
    EXPECT_EQ(status, 0);
}

sockaddr_storage read_as(const void* given, sa_family_t own_family) {
    sockaddr_storage own{};
    own.ss_family = own_family;
    return dapl::peer_address(static_cast<const sockaddr*>(given), own);
}

sockaddr_in ipv4(const char* text, sa_family_t family) {
    sockaddr_in in{};
    in.sin_family = family;
    inet_pton(AF_INET, text, &in.sin_addr);
    return in;
}
sockaddr_in6 ipv6(const char* text) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    inet_pton(AF_INET6, text, &in6.sin6_addr);
    return in6;
}

TEST(Cma, a_peer_is_ipv4_whatever_family_its_caller_left_there) {
    for (const sa_family_t family : {AF_INET, AF_UNSPEC, AF_UNIX, AF_INET6, 12345}) {
        const sockaddr_in peer = ipv4("10.1.2.3", family);
        EXPECT_EQ(dapl::to_text(read_as(&peer, AF_INET)), "10.1.2.3") << family;
    }
}

TEST(Cma, a_peer_is_ipv6_where_it_says_so_and_has_no_ipv4_address) {
    const sockaddr_in6 peer = ipv6("fd77::2");
    EXPECT_EQ(dapl::to_text(read_as(&peer, AF_INET6)), "[fd77::2]");
    EXPECT_EQ(dapl::to_text(read_as(&peer, AF_INET)), "[fd77::2]");
    const sockaddr_in6 mapped = ipv6("::ffff:10.1.2.3");
    EXPECT_EQ(dapl::to_text(read_as(&mapped, AF_INET)), "10.1.2.3");
}

TEST(Cma, where_the_own_address_names_a_queue_pair_the_peers_does_whatever_else_it_says) {
    sockaddr_in6 queue_pair = ipv6("::ffff:10.1.2.3");  // a GID of RoCE v2, not an IPv4 address
    queue_pair.sin6_port = htons(7);
    queue_pair.sin6_flowinfo = htonl(0x123);
    queue_pair.sin6_scope_id = htonl(4);  // the last byte: UD
    sockaddr_storage own{};
    std::memcpy(&own, &queue_pair, sizeof queue_pair);
    ASSERT_TRUE(dapl::is_queue_pair(own));
    EXPECT_EQ(dapl::to_text(own), "LID 7, QPN 291, GID ::ffff:10.1.2.3");
    for (const sa_family_t family : {AF_INET, AF_UNSPEC, AF_INET6}) {
        sockaddr_in6 peer = queue_pair;
        peer.sin6_family = family;
        peer.sin6_scope_id = 0;
        const auto read = dapl::peer_address(reinterpret_cast<const sockaddr*>(&peer), own);
        EXPECT_EQ(std::memcmp(&read, &own, sizeof queue_pair), 0) << family;
    }
    sockaddr_storage host{};
    const sockaddr_in6 scoped = ipv6("fe80::1");
    std::memcpy(&host, &scoped, sizeof scoped);
    EXPECT_FALSE(dapl::is_queue_pair(host));
}

TEST(Cma, of_an_ipv4_peer_only_16_bytes_are_read) {
    const long page = sysconf(_SC_PAGESIZE);
    char* two = static_cast<char*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(two, MAP_FAILED);
    ASSERT_EQ(mprotect(two + page, page, PROT_NONE), 0);
    for (const sa_family_t family : {AF_INET, AF_UNSPEC, AF_INET6}) {
        const sockaddr_in peer = ipv4("10.1.2.3", family);
        char* const last = two + page - sizeof peer;
        std::memcpy(last, &peer, sizeof peer);
        EXPECT_EQ(dapl::to_text(read_as(last, AF_INET)), "10.1.2.3");
    }
    munmap(two, 2 * page);
}

}  // namespace
