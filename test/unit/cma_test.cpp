// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "dapl/private_data.hpp"
#include "providers/cma/conn_qual.hpp"
#include "providers/cma/device.hpp"
#include "providers/cma/private_data.hpp"

namespace dapl::cma {
/// No RDMA devices here.
std::optional<sockaddr_in> address_of_rdma_device(const std::string&) {
    return std::nullopt;
}
}  // namespace dapl::cma

namespace {

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

TEST(Cma, the_first_word_of_the_parameters_is_the_device) {
    EXPECT_EQ(dapl::cma::device_of("eth0 0"), "eth0");
    EXPECT_EQ(dapl::cma::device_of("soft0"), "soft0");
    EXPECT_EQ(dapl::cma::device_of("  mlx5_0\t1 x"), "mlx5_0");
    EXPECT_EQ(dapl::cma::device_of(""), "");
    EXPECT_EQ(dapl::cma::device_of("  "), "");
}

TEST(Cma, a_device_is_found_by_interface_address_and_name_of_this_host_only) {
    const auto by_interface = dapl::cma::address_of("lo");
    ASSERT_TRUE(by_interface);
    EXPECT_EQ(ntohl(by_interface->sin_addr.s_addr), INADDR_LOOPBACK);
    EXPECT_TRUE(dapl::cma::address_of("127.0.0.1"));
    EXPECT_TRUE(dapl::cma::address_of("localhost"));
    EXPECT_FALSE(dapl::cma::address_of("192.0.2.1"));
    EXPECT_FALSE(dapl::cma::address_of("nonesuch0.invalid"));
    EXPECT_FALSE(dapl::cma::address_of(""));
}

}  // namespace
