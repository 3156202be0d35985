// SPDX-License-Identifier: BSD-2-Clause
// The messages that two datagram endpoints exchange in rdma_cm's private data.
#include <gtest/gtest.h>

#include <string>

#include "providers/cma/datagram_message.hpp"

namespace {

dapl::cm::PrivateData bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(CmaDatagram, what_one_end_says_the_other_reads_in_its_exact_size) {
    using namespace dapl::cma;
    for (const std::string& data : {std::string(), std::string("who"), std::string(128, 'x')}) {
        const DatagramBytes sent =
            encode({DatagramMessage::Kind::kAccept, 0x123456, bytes_of(data), {}});
        std::string padded(reinterpret_cast<const char*>(sent.data()), sent.size());
        padded.resize(144, '\0');
        const auto read = decode(bytes_of(padded));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->kind, DatagramMessage::Kind::kAccept);
        EXPECT_EQ(read->qpn, 0x123456u);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(read->data.data()), read->data.size()),
                  data);
    }
}

TEST(CmaDatagram, what_is_no_such_message_is_refused) {
    using namespace dapl::cma;
    const PortAddress port{0x1234, {0xfe, 0x80, 1, 2, 3}};
    const DatagramBytes sent =
        encode({DatagramMessage::Kind::kRequest, 0x123456, bytes_of("data"), port});
    const std::string good(reinterpret_cast<const char*>(sent.data()), sent.size());
    const auto read = decode(bytes_of(good));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->port.lid, port.lid);
    EXPECT_EQ(read->port.gid, port.gid);
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(decode(bytes_of(good.substr(0, size)))) << "cut to " << size;
    const auto with = [&good](std::size_t at, const std::string& bytes) {
        std::string changed = good;
        return changed.replace(at, bytes.size(), bytes);
    };
    EXPECT_FALSE(decode(bytes_of(with(0, "x")))) << "another's";
    EXPECT_FALSE(decode(bytes_of(with(1, "\x01")))) << "another version";
    EXPECT_FALSE(decode(bytes_of(with(2, "\x09")))) << "another kind";
    EXPECT_FALSE(decode(bytes_of(with(3, "\xff")))) << "more data than there is";
    EXPECT_FALSE(decode(bytes_of(with(4, std::string(4, '\0'))))) << "no consumer's queue pair";
    EXPECT_FALSE(decode(bytes_of(with(4, std::string("\0\xff\xff\xff", 4))))) << "a group";
    EXPECT_FALSE(decode(bytes_of(with(4, std::string("\x01\0\0\0", 4))))) << "25 bits";
    EXPECT_FALSE(decode(bytes_of(with(8, "\xc0")))) << "a LID of a group";
    EXPECT_FALSE(decode(bytes_of(with(12, "\xff")))) << "a GID of a group";
}

}  // namespace
