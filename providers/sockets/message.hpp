// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Messages as they travel over a socket: bytes in, structure out. No sockets.
///
/// Peers of version 8 and later have a header of 148 bytes (providers/exchange/message.hpp), older
/// ones one of 150: the same fields, two unused bytes at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "providers/exchange/message.hpp"
#include "support/base/result.hpp"

namespace dapl::sockets {

using exchange::kHeaderSize;
using exchange::kMaxPrivateData;
using exchange::Message;
using exchange::Operation;

/// The version in this side's messages when it falls back to the header of old peers.
inline constexpr std::uint16_t kOldVersion = 7;

inline constexpr std::size_t kOldHeaderSize = 150;
inline constexpr std::size_t kMaxMessageSize = kOldHeaderSize + kMaxPrivateData;
/// "Ready to use" is only the first bytes of a header; the word that ends a connection is as long.
inline constexpr std::size_t kShortMessageSize = 4;

enum class Shape { kCurrent, kOld };
constexpr std::size_t header_size(Shape shape) {
    return shape == Shape::kOld ? kOldHeaderSize : kHeaderSize;
}
/// @return the shape of the headers that a peer of this version writes and reads.
Shape shape_of(std::uint16_t version);

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
/// In its place, on a program's socket: this side cannot use the reply.
Bytes encode_late_reject();
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
    /// For a complete message in place of a kReadyToUse. @return whether it is its opposite.
    bool is_reject() const;
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

}  // namespace dapl::sockets
