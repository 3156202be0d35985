// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages that set up a connection: bytes in, structure out. No sockets.
///
/// A message is a header of fixed size and up to 68 bytes of private data. Peers of version 8 and
/// later have a header of 148 bytes, older ones one of 150: the same fields, two unused bytes at
/// the end.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "support/base/result.hpp"

namespace dapl::scm {

inline constexpr std::uint16_t kOwnVersion = 9;
inline constexpr std::uint16_t kLowestVersion = 6;
/// The version in this side's messages when it falls back to the header of old peers.
inline constexpr std::uint16_t kOldVersion = 7;

inline constexpr std::size_t kHeaderSize = 148;
inline constexpr std::size_t kOldHeaderSize = 150;
inline constexpr std::size_t kMaxPrivateData = 68;
inline constexpr std::size_t kMaxMessageSize = kOldHeaderSize + kMaxPrivateData;
/// "Ready to use" is only the first bytes of a header; the word that ends a connection is as long.
inline constexpr std::size_t kShortMessageSize = 4;

enum class Operation : std::uint16_t {
    kRequest = 1,
    kReply = 2,
    kConsumerReject = 3,
    kManagerReject = 4,
    kReadyToUse = 5,
};

enum class Shape { kCurrent, kOld };
constexpr std::size_t header_size(Shape shape) {
    return shape == Shape::kOld ? kOldHeaderSize : kHeaderSize;
}
/// @return the shape of the headers that a peer of this version writes and reads.
Shape shape_of(std::uint16_t version);

/// The address of a queue pair, in host order.
struct QpAddress {
    std::uint16_t lid = 0;
    std::uint32_t qpn = 0;
    std::array<std::uint8_t, 16> gid{};  ///< as in the GID table
    std::uint8_t service_level = 0;
    std::uint8_t qp_type = 0;  ///< verbs numbers: 2 RC, 4 UD

    /// Whether it names one queue pair of a consumer: not a multicast group, nor one of the queue
    /// pairs that manage the subnet.
    bool is_unicast() const;
};

struct Message {
    std::uint16_t version = kOwnVersion;
    Operation operation{};
    std::uint8_t read_limit = 0;  ///< RDMA reads that the sender serves at a time
    std::uint8_t mtu = 0;         ///< ibv_mtu; 0 from peers too old to send it
    QpAddress sender;
    sockaddr_in sender_address{};
    std::array<std::byte, kMaxPrivateData> private_data{};  ///< zeros behind `private_data_size`
    std::size_t private_data_size = 0;

    /// The data as the consumer of the active side gets it: always the whole field.
    std::span<const std::byte> whole_private_data() const { return private_data; }
    std::span<const std::byte> given_private_data() const {
        return {private_data.data(), private_data_size};
    }
};

/// A message as it is sent: in one piece, since peers read it with one call.
class Bytes {
  public:
    std::span<const std::byte> all() const { return {bytes_.data(), size_}; }
    std::byte* data() { return bytes_.data(); }
    void resize(std::size_t size) { size_ = size; }

  private:
    std::array<std::byte, kMaxMessageSize> bytes_{};
    std::size_t size_ = 0;
};

Bytes encode(const Message& message, Shape shape);
/// A rejection is the request's own header, sent back.
/// @param request the request as received. @param data at most kMaxPrivateData bytes.
Bytes encode_reject(std::span<const std::byte> request, Shape shape, Operation operation,
                    std::span<const std::byte> data);
Bytes encode_ready_to_use();
/// The word that ends a connection. Receivers do not look at the value.
Bytes encode_disconnect();

/// Puts a message together from bytes that arrive in any pieces.
class Reader {
  public:
    /// The message that this side waits for. A rejection is a reply too.
    enum class Expected { kRequest, kReply, kReadyToUse };

    /// @param sent_shape for kReply: the shape of our own request. A peer that reads the old header
    /// answers with it, whatever version it claims.
    explicit Reader(Expected expected, Shape sent_shape = Shape::kCurrent)
        : expected_(expected), shape_(sent_shape) {}

    /// @return where the next bytes go; not empty before the message is complete or refused.
    std::span<std::byte> space();
    /// @param count bytes that have been put into space(). @return whether the message is complete,
    /// or why the peer must be dropped.
    support::Result<bool> added(std::size_t count);
    /// Called when the peer has closed its end. @return whether the message is complete; false for
    /// a truncated one.
    bool ended_here();

    /// message(), shape() and bytes() are for complete messages only.
    const Message& message() const { return message_; }
    Shape shape() const { return shape_; }
    std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
    /// Bytes so far, whether the message is complete or not.
    std::size_t size() const { return size_; }

  private:
    std::size_t wanted() const;
    support::Result<void> check_start() const;
    support::Result<void> read_header();
    bool repeats_data() const;
    void read_private_data(std::size_t start);

    Expected expected_;
    Shape shape_;
    bool has_header_ = false;
    std::size_t size_ = 0;
    std::array<std::byte, kMaxMessageSize> bytes_{};
    Message message_;
};

}  // namespace dapl::scm
