// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection manager's messages, one per step, as bodies of fabric records. The two ends of a
/// connection name it by numbers; each end chooses its own.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>

namespace softverbs {

// Capacity for private data, as in the fields of InfiniBand CM messages. A receiver always gets the
// whole field, with zeros behind what was sent.
inline constexpr std::size_t kRequestData = 92;          ///< RDMA_PS_IB
inline constexpr std::size_t kTcpRequestData = 56;       ///< others: the addresses take 36 bytes
inline constexpr std::size_t kResolveRequestData = 144;  ///< datagram port spaces
inline constexpr std::size_t kResolveReplyData = 136;
inline constexpr std::size_t kReplyData = 196;
inline constexpr std::size_t kRejectData = 148;

/// InfiniBand's reject reasons that occur here.
inline constexpr std::uint32_t kRejectTimeout = 4;
inline constexpr std::uint32_t kRejectInvalidService = 8;
inline constexpr std::uint32_t kRejectConsumer = 28;
inline constexpr std::uint32_t kRejectVendorOption = 35;

/// InfiniBand's status codes of service ID resolution, except 0 for success.
inline constexpr std::uint32_t kResolveUnsupported = 1;  ///< nobody listens
inline constexpr std::uint32_t kResolveRejected = 2;

/// A side's queue pair, as described to the other side.
struct QueuePairTerms {
    std::uint32_t qp_num;
    std::uint8_t responder_resources;
    std::uint8_t initiator_depth;
    std::uint8_t flow_control;
    std::uint8_t retry_count;
    std::uint8_t rnr_retry_count;
    std::uint8_t srq;
    std::uint8_t device;  ///< number of the sender's
    std::uint8_t reserved;
    /// Vendor options that one side offers and the other answers; this device only carries them.
    std::uint32_t ece_vendor;
    std::uint32_t ece_options;
};

struct ConnectRequest {
    std::uint32_t from;  ///< the sender's number; the receiver has none yet
    std::uint32_t port_space;
    in6_addr source;
    in6_addr destination;
    std::uint16_t source_port;  ///< host order, like destination_port
    std::uint16_t destination_port;
    std::uint32_t qp_type;
    QueuePairTerms terms;
    std::array<std::uint8_t, kResolveRequestData> data;  ///< sized for the longest
};
static_assert(sizeof(ConnectRequest) == 212);

struct ConnectReply {
    std::uint32_t from;
    std::uint32_t to;
    QueuePairTerms terms;
    std::array<std::uint8_t, kReplyData> data;
};
static_assert(sizeof(ConnectReply) == 224);

struct ConnectReject {
    std::uint32_t from;  ///< 0 if the sender never had a number
    std::uint32_t to;
    std::uint32_t reason;
    std::array<std::uint8_t, kRejectData> data;
};
static_assert(sizeof(ConnectReject) == 160);

/// Answers a ConnectRequest of a datagram port space.
struct ResolveReply {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t status;
    std::uint32_t qp_num;
    std::uint32_t qkey;
    std::uint32_t device;  ///< number of the sender's
    std::array<std::uint8_t, kResolveReplyData> data;
};
static_assert(sizeof(ResolveReply) == 160);

/// ConnectPending, ReadyToUse, DisconnectRequest, DisconnectReply.
struct ConnectionStep {
    std::uint32_t from;
    std::uint32_t to;
};
static_assert(sizeof(ConnectionStep) == 8);

}  // namespace softverbs
