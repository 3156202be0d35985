// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_ping's messages and its summary.
#include <gtest/gtest.h>

#include <vector>

#include "tools/ping/message.hpp"
#include "tools/ping/statistics.hpp"

namespace ping {
namespace {

TEST(PingMessage, is_known_again_byte_for_byte) {
    for (const std::size_t size :
         {kSmallestSize, kSmallestSize + 1, kUsualSize, std::size_t{5000}}) {
        std::vector<std::byte> bytes(size);
        write_message(bytes, Kind::kAnswer, 7);
        EXPECT_EQ(check_message(bytes, Kind::kAnswer, 7), "");
        for (std::size_t i = 0; i < size; ++i) {
            bytes[i] ^= std::byte{1};
            EXPECT_NE(check_message(bytes, Kind::kAnswer, 7), "") << i;
            bytes[i] ^= std::byte{1};
        }
    }
}

TEST(PingMessage, of_another_number_or_kind_or_size_is_told_apart) {
    std::vector<std::byte> bytes(kUsualSize);
    write_message(bytes, Kind::kRequest, 7);
    EXPECT_EQ(check_message(bytes, Kind::kRequest, 8), "the message is number 7, not 8");
    EXPECT_EQ(check_message(bytes, Kind::kAnswer, 7), "the message is of the wrong kind");
    EXPECT_EQ(check_message({bytes.data(), kSmallestSize - 1}, Kind::kRequest, 7),
              "the message is too short");
    EXPECT_EQ(check_message(std::vector<std::byte>(kUsualSize), Kind::kAnswer, 0),
              "the message is not from dat_ping");
}

TEST(PingMessage, an_answer_is_made_of_a_request_alone) {
    std::vector<std::byte> bytes(kUsualSize);
    EXPECT_FALSE(turn_into_answer(bytes));
    EXPECT_FALSE(turn_into_answer({bytes.data(), 3}));
    write_message(bytes, Kind::kRequest, 9);
    EXPECT_TRUE(turn_into_answer(bytes));
    EXPECT_EQ(check_message(bytes, Kind::kAnswer, 9), "");
    EXPECT_FALSE(turn_into_answer(bytes));
}

TEST(PingHello, is_read_with_padding_and_refused_when_it_is_strange_short_or_out_of_bounds) {
    std::byte bytes[Hello::kSize + 40]{};
    const std::span<std::byte, Hello::kSize> hello(bytes, Hello::kSize);
    write_hello(hello, {kUsualSize});
    ASSERT_TRUE(read_hello(bytes));
    EXPECT_EQ(read_hello(bytes)->size, kUsualSize);
    EXPECT_FALSE(read_hello({bytes, Hello::kSize - 1}));
    EXPECT_FALSE(read_hello({}));
    for (const std::size_t size : {std::size_t{0}, kSmallestSize - 1, kLargestSize + 1}) {
        write_hello(hello, {static_cast<std::uint32_t>(size)});
        EXPECT_FALSE(read_hello(bytes)) << size;
    }
    write_hello(hello, {kUsualSize});
    bytes[0] ^= std::byte{1};
    EXPECT_FALSE(read_hello(bytes));
}

TEST(PingHello, a_refusal_says_why) {
    const std::byte full{static_cast<unsigned char>(Refusal::kFull)};
    EXPECT_STREQ(refusal_text({&full, 1}), "the server has too many clients");
    EXPECT_STREQ(refusal_text({}), "the program there rejected it: is it a dat_ping?");
}

TEST(PingStatistics, are_summed_up_as_ping_does) {
    Statistics statistics;
    EXPECT_EQ(statistics.summary("there", 0),
              "\n--- there dat_ping statistics ---\n"
              "0 packets transmitted, 0 received, 0% packet loss, time 0ms\n");
    statistics.answered(1);
    statistics.answered(3);
    statistics.lost("why");
    EXPECT_EQ(statistics.summary("there", 2001.4),
              "\n--- there dat_ping statistics ---\n"
              "3 packets transmitted, 2 received, 33.3333% packet loss, time 2001ms\n"
              "rtt min/avg/max/mdev = 1.000/2.000/3.000/1.000 ms\n");
    EXPECT_EQ(statistics.losses().at("why"), 1u);
}

}  // namespace
}  // namespace ping
