// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages on the link between two processes: SOCK_SEQPACKET records, each a MessageHeader,
/// then a structure of fixed layout. Both ends are on one machine, so values are in host byte
/// order. A record of the wrong size, type or version ends the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs {

/// Incremented with every change of a message, of the index or of the layout of arenas.
inline constexpr std::uint32_t kFabricVersion = 14;

enum class MessageType : std::uint16_t {
    kHello = 1,  ///< first in each direction; carries arena, doorbell and page file
    // verbs
    kWakeChannel,  ///< asks for the wake-up descriptor of a completion channel
    kAgentCopy,    ///< asks the target's service thread to copy
    // connection manager
    kConnectRequest,
    kConnectPending,  ///< the consumer has not answered the request yet (as a CM MRA)
    kConnectReply,
    kReadyToUse,
    kConnectReject,
    kDisconnectRequest,
    kDisconnectReply,
    kResolveReply,  ///< answers a request of a datagram port space
    kCount,
};

/// Longest body of a record, in bytes.
inline constexpr std::size_t kMaxMessageBody = 64 * 1024;
/// Most descriptors in one record.
inline constexpr std::size_t kMaxMessageFds = 4;

struct MessageHeader {
    std::uint16_t type;  ///< a MessageType
    std::uint16_t is_reply;
    std::uint32_t length;      ///< of the body, in bytes
    std::uint64_t request_id;  ///< 0: no reply is expected
};
static_assert(sizeof(MessageHeader) == 16);

/// A received record. The body is in the service thread's buffer: valid during the handler only.
struct Message {
    MessageType type;
    std::uint64_t request_id;
    std::span<const std::byte> body;
    std::vector<UniqueFd> fds;  ///< the handler may move them out

    /// @return the body as a T, or nullptr when its length is not exactly T's.
    template <class T>
    const T* as() const {
        static_assert(alignof(T) <= 16);
        return body.size() == sizeof(T) ? reinterpret_cast<const T*>(body.data()) : nullptr;
    }
};

template <class T>
std::span<const std::byte> bytes_of(const T& structure) {
    return std::as_bytes(std::span<const T, 1>(&structure, 1));
}

}  // namespace softverbs
