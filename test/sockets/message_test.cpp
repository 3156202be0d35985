// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "providers/sockets/message.hpp"

namespace {

using namespace dapl::sockets;
using Octets = std::vector<std::byte>;

Octets from_hex(const std::string& text) {
    Octets bytes;
    for (std::size_t at = 0; at + 1 < text.size(); at += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(at, 2), nullptr, 16)));
    return bytes;
}

/// A request as the reference implementation put it on the wire.
const Octets kCaptured = from_hex(
    "0009000100000000000000000000000000040000000000000000000004000000050000000000abe5"
    "00001c01fe80f150e47846ea0a53f150e47846ea000000020200b0fc7f000001" +
    std::string(2 * (148 - 72), '0') + "01020304");

Octets with(Octets bytes, std::size_t at, std::initializer_list<unsigned> values) {
    for (const unsigned value : values) bytes[at++] = static_cast<std::byte>(value);
    return bytes;
}

/// The same request from a peer of an older version: two unused bytes follow the header.
Octets old(unsigned version) {
    Octets bytes = with(kCaptured, 1, {version});
    bytes.insert(bytes.begin() + 148, 2, std::byte{0xEE});
    return bytes;
}

enum class End { kIncomplete, kComplete, kRefused };

/// @param cuts offsets at which the stream is cut into pieces.
End feed(Reader& reader, const Octets& stream, std::vector<std::size_t> cuts = {},
         std::string* cause = nullptr) {
    cuts.push_back(stream.size());
    std::size_t at = 0;
    for (const std::size_t cut : cuts) {
        while (at < cut) {
            const auto room = reader.space();
            if (room.empty()) ADD_FAILURE() << "no room before the end";
            const std::size_t taken = std::min(room.size(), cut - at);
            std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), taken, room.begin());
            at += taken;
            const auto result = reader.added(taken);
            if (!result) {
                if (cause) *cause = result.error().cause;
                return End::kRefused;
            }
            if (*result) return End::kComplete;
        }
    }
    return End::kIncomplete;
}

std::string refusal(const Octets& stream, Reader::Expected expected = Reader::Expected::kRequest) {
    Reader reader(expected);
    std::string cause;
    EXPECT_EQ(feed(reader, stream, {}, &cause), End::kRefused);
    return cause;
}

void expect_captured(const Message& message) {
    EXPECT_EQ(message.operation, Operation::kRequest);
    EXPECT_EQ(message.read_limit, 4);
    EXPECT_EQ(message.sender.lid, 0xabe5);
    EXPECT_EQ(message.sender.qpn, 0x1c01u);
    EXPECT_EQ(message.sender.gid[0], 0xfe);
    EXPECT_EQ(message.sender.gid[15], 0xea);
    EXPECT_EQ(message.sender.qp_type, IBV_QPT_RC);
    sockaddr_in address;
    std::memcpy(&address, message.other_address.data(), sizeof address);
    EXPECT_EQ(address.sin_family, AF_INET);
    EXPECT_EQ(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    EXPECT_EQ(ntohs(address.sin_port), 0xb0fc);
    ASSERT_EQ(message.given_private_data().size(), 4u);
    EXPECT_EQ(message.private_data[0], std::byte{1});
    EXPECT_EQ(message.private_data[3], std::byte{4});
    EXPECT_EQ(message.private_data[4], std::byte{0});
}

TEST(ScmMessage, a_request_of_the_reference_is_read_and_written_byte_for_byte) {
    Reader reader(Reader::Expected::kRequest);
    ASSERT_EQ(feed(reader, kCaptured), End::kComplete);
    expect_captured(reader.message());
    EXPECT_EQ(reader.message().version, 9);
    EXPECT_EQ(reader.message().mtu, IBV_MTU_4096);
    const Bytes written = encode(reader.message(), Shape::kCurrent);
    EXPECT_TRUE(std::ranges::equal(written.all(), kCaptured));
}

TEST(ScmMessage, a_request_of_each_version_is_read_wherever_the_stream_is_cut) {
    for (const unsigned version : {6, 7, 8, 9}) {
        const Octets stream = version < 8 ? old(version) : with(kCaptured, 1, {version});
        for (std::size_t cut = 1; cut < stream.size(); ++cut) {
            Reader reader(Reader::Expected::kRequest);
            ASSERT_EQ(feed(reader, stream, {cut}), End::kComplete) << version << " cut at " << cut;
            expect_captured(reader.message());
            EXPECT_EQ(reader.message().version, version);
            EXPECT_EQ(reader.message().mtu, version < 9 ? 0 : IBV_MTU_4096);
            EXPECT_EQ(reader.shape(), version < 8 ? Shape::kOld : Shape::kCurrent);
            EXPECT_EQ(reader.size(), stream.size());
        }
    }
}

TEST(ScmMessage, a_request_is_read_byte_by_byte_and_is_complete_with_the_last_one_only) {
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 1; cut < kCaptured.size(); ++cut) cuts.push_back(cut);
    Reader whole(Reader::Expected::kRequest);
    EXPECT_EQ(feed(whole, kCaptured, cuts), End::kComplete);
    for (const std::size_t cut : cuts) {
        Reader reader(Reader::Expected::kRequest);
        const Octets part(kCaptured.begin(), kCaptured.begin() + static_cast<std::ptrdiff_t>(cut));
        EXPECT_EQ(feed(reader, part), End::kIncomplete) << cut;
    }
}

TEST(ScmMessage, each_size_of_private_data_goes_over_and_none_above_68) {
    for (std::size_t size = 0; size <= kMaxPrivateData; ++size) {
        for (const Shape shape : {Shape::kCurrent, Shape::kOld}) {
            Message message;
            message.version = shape == Shape::kOld ? kOldVersion : dapl::exchange::kOwnVersion;
            message.operation = Operation::kRequest;
            message.mtu = IBV_MTU_1024;
            message.sender.qp_type = IBV_QPT_RC;
            message.private_data_size = size;
            std::fill_n(message.private_data.begin(), size, std::byte{7});
            const Bytes bytes = encode(message, shape);
            ASSERT_EQ(bytes.all().size(), header_size(shape) + size);
            Reader reader(Reader::Expected::kRequest);
            ASSERT_EQ(feed(reader, Octets(bytes.all().begin(), bytes.all().end())), End::kComplete);
            EXPECT_TRUE(std::ranges::equal(reader.message().given_private_data(),
                                           message.given_private_data()));
            EXPECT_EQ(reader.message().whole_private_data().size(), kMaxPrivateData);
            EXPECT_EQ(reader.shape(), shape);
        }
    }
    EXPECT_EQ(refusal(with(kCaptured, 16, {0, 69})), "69 bytes of private data");
    EXPECT_EQ(refusal(with(kCaptured, 16, {0xFF, 0xFF})), "65535 bytes of private data");
}

TEST(ScmMessage, a_bad_field_is_refused_by_name) {
    EXPECT_EQ(refusal(with(kCaptured, 0, {0, 5})), "version 5");
    EXPECT_EQ(refusal(from_hex("0000")), "version 0");
    EXPECT_EQ(refusal(from_hex("00090002")), "operation 2");
    EXPECT_EQ(refusal(from_hex("00090000")), "operation 0");
    EXPECT_EQ(refusal(from_hex("0009ffff")), "operation 65535");
    EXPECT_EQ(refusal(with(kCaptured, 40, {1, 0, 0, 0})), "queue pair number 16777216");
    EXPECT_EQ(refusal(with(kCaptured, 63, {3})), "queue pair type 3");
    EXPECT_EQ(refusal(with(kCaptured, 32, {0})), "MTU code 0");
    EXPECT_EQ(refusal(with(kCaptured, 32, {6})), "MTU code 6");
    EXPECT_EQ(refusal(from_hex("00090001"), Reader::Expected::kReadyToUse), "operation 1");
    EXPECT_EQ(refusal(from_hex("0000dead"), Reader::Expected::kReadyToUse), "version 0");
}

TEST(ScmMessage, a_later_version_is_read_as_the_own) {
    Reader reader(Reader::Expected::kRequest);
    ASSERT_EQ(feed(reader, with(kCaptured, 1, {10})), End::kComplete);
    expect_captured(reader.message());
}

TEST(ScmMessage, an_old_header_that_says_the_current_version_is_known_by_its_two_bytes_more) {
    Octets stream = kCaptured;
    stream.insert(stream.begin() + 148, {std::byte{1}, std::byte{2}});
    Reader reader(Reader::Expected::kRequest);
    ASSERT_EQ(feed(reader, stream), End::kComplete);
    expect_captured(reader.message());
    EXPECT_EQ(reader.shape(), Shape::kCurrent);
}

TEST(ScmMessage, what_a_peer_says_behind_its_request_is_no_private_data) {
    Octets stream = kCaptured;
    for (const unsigned value : {0, 0, 0xDE, 0xAD}) stream.push_back(static_cast<std::byte>(value));
    Reader reader(Reader::Expected::kRequest);
    ASSERT_EQ(feed(reader, stream), End::kComplete);
    expect_captured(reader.message());
}

TEST(ScmMessage, an_answer_to_an_old_request_has_the_old_header_whatever_version_it_says) {
    Message message;
    message.operation = Operation::kReply;
    message.mtu = IBV_MTU_2048;
    message.sender.qp_type = IBV_QPT_RC;
    message.private_data_size = 1;
    message.private_data[0] = std::byte{0x55};
    const Bytes bytes = encode(message, Shape::kOld);
    Reader reader(Reader::Expected::kReply, Shape::kOld);
    ASSERT_EQ(feed(reader, Octets(bytes.all().begin(), bytes.all().end())), End::kComplete);
    EXPECT_EQ(reader.message().private_data[0], std::byte{0x55});
}

TEST(ScmMessage, a_rejection_is_the_requests_header_with_other_operation_and_data) {
    const Octets data = from_hex("aabbcc");
    const Bytes bytes = encode_reject(kCaptured, Shape::kCurrent, Operation::kConsumerReject, data);
    Octets wanted = with(kCaptured, 3, {3});
    wanted = with(wanted, 16, {0, 3});
    wanted.resize(148);
    wanted.insert(wanted.end(), data.begin(), data.end());
    EXPECT_TRUE(std::ranges::equal(bytes.all(), wanted));
    Reader reader(Reader::Expected::kReply);
    ASSERT_EQ(feed(reader, wanted), End::kComplete);
    EXPECT_EQ(reader.message().operation, Operation::kConsumerReject);
    EXPECT_EQ(reader.message().private_data[2], std::byte{0xcc});
    EXPECT_EQ(reader.message().private_data[3], std::byte{0});
}

TEST(ScmMessage, an_old_peer_is_rejected_in_its_shape_and_a_rejection_without_it_is_read_too) {
    const Octets data = from_hex("aabb");
    const Octets request = old(7);
    const Bytes ours = encode_reject(request, Shape::kOld, Operation::kConsumerReject, data);
    EXPECT_EQ(ours.all().size(), 152u);
    Reader reader(Reader::Expected::kReply, Shape::kOld);
    ASSERT_EQ(feed(reader, Octets(ours.all().begin(), ours.all().end())), End::kComplete);
    EXPECT_EQ(reader.message().private_data[1], std::byte{0xbb});
    const Bytes theirs = encode_reject(request, Shape::kCurrent, Operation::kConsumerReject, data);
    Reader other(Reader::Expected::kReply, Shape::kOld);
    ASSERT_EQ(feed(other, Octets(theirs.all().begin(), theirs.all().end())), End::kIncomplete);
    ASSERT_TRUE(other.ended_here());
    EXPECT_EQ(other.message().private_data[1], std::byte{0xbb});
}

TEST(ScmMessage, a_reply_cut_short_is_none) {
    for (std::size_t size = 0; size < kCaptured.size(); ++size) {
        Reader reader(Reader::Expected::kReply);
        const Octets part(kCaptured.begin(), kCaptured.begin() + static_cast<std::ptrdiff_t>(size));
        ASSERT_EQ(feed(reader, part), End::kIncomplete);
        EXPECT_FALSE(reader.ended_here()) << size;
    }
}

TEST(ScmMessage, ready_to_use_and_disconnect_are_four_bytes) {
    EXPECT_TRUE(std::ranges::equal(encode_ready_to_use().all(), from_hex("00090005")));
    EXPECT_TRUE(std::ranges::equal(encode_disconnect().all(), from_hex("0000dead")));
    Reader reader(Reader::Expected::kReadyToUse);
    EXPECT_EQ(reader.space().size(), 4u);
    EXPECT_EQ(feed(reader, from_hex("00060005"), {1, 2, 3}), End::kComplete);
}

}  // namespace
