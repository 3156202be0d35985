// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Messages as they travel in datagrams: bytes in, structure out. A datagram is one message, the
/// header of providers/exchange/message.hpp and behind it the private data. No verbs.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "providers/exchange/message.hpp"
#include "support/base/result.hpp"

namespace dapl::ucm {

using exchange::Message;
using exchange::Operation;

inline constexpr std::size_t kMaxMessage = exchange::kHeaderSize + exchange::kMaxPrivateData;

class Bytes {
  public:
    std::span<const std::byte> all() const { return {bytes_.data(), size_}; }

  private:
    friend Bytes encode(const Message&);
    std::array<std::byte, kMaxMessage> bytes_{};
    std::size_t size_ = exchange::kHeaderSize;
};

Bytes encode(const Message& message);

/// @param datagram what follows the 40 bytes of a GRH.
/// @return the message, or what is wrong with it. Its ports, ids and numbers of queue pairs are as
/// the peer sent them; a request or reply has passed check_offer().
support::Result<Message> decode(std::span<const std::byte> datagram);

/// Whether the operation's message carries private data.
constexpr bool carries_data(Operation operation) {
    return operation == Operation::kRequest || operation == Operation::kReply ||
           operation == Operation::kConsumerReject;
}

}  // namespace dapl::ucm
