// SPDX-License-Identifier: BSD-2-Clause
#include "device/address.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace {

sockaddr_storage stored(const sockaddr_in6& address) {
    sockaddr_storage result{};
    std::memcpy(&result, &address, sizeof address);
    return result;
}

TEST(Address, a_port_can_be_set_at_a_host_and_not_at_a_queue_pair_which_has_its_lid_there) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(7);
    in6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    sockaddr_storage host = stored(in6);
    EXPECT_EQ(dapl::port_of(host), 7);
    dapl::set_port(host, 4711);
    EXPECT_EQ(dapl::to_text(host), "[::1]:4711");

    in6.sin6_flowinfo = htonl(26);
    in6.sin6_scope_id = htonl(4);  // an unreliable-datagram queue pair
    sockaddr_storage queue_pair = stored(in6);
    ASSERT_TRUE(dapl::is_queue_pair(queue_pair));
    EXPECT_EQ(dapl::port_of(queue_pair), 0);
    dapl::set_port(queue_pair, 4711);
    EXPECT_EQ(dapl::to_text(queue_pair), "LID 7, QPN 26, GID ::1");
}

}  // namespace
