// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages by which two managers exchange the addresses of their queue pairs: a header of 148
/// bytes, up to 68 bytes of private data. Bytes in, structure out; how they travel is the manager's
/// matter. Ports and ids are zero where a connection has a socket of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "support/base/result.hpp"

namespace dapl::exchange {

inline constexpr std::uint16_t kOwnVersion = 9;
inline constexpr std::uint16_t kLowestVersion = 6;
/// The first version that sends `read_limit`, and the first that sends `mtu`.
inline constexpr std::uint16_t kFirstWithReadLimit = 7;
inline constexpr std::uint16_t kFirstWithMtu = 9;

inline constexpr std::size_t kHeaderSize = 148;
inline constexpr std::size_t kMaxPrivateData = 68;
inline constexpr std::uint32_t kLargestQpn = 0xFFFFFF;

enum class Operation : std::uint16_t {
    kRequest = 1,
    kReply = 2,
    kConsumerReject = 3,
    kManagerReject = 4,
    kReadyToUse = 5,
    kDisconnect = 6,
    kDisconnected = 7,
};

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

inline constexpr std::size_t kAddressSize = 28;
using AddressBytes = std::array<std::byte, kAddressSize>;
AddressBytes encode(const QpAddress& address);
QpAddress decode(const AddressBytes& bytes);

struct Message {
    std::uint16_t version = kOwnVersion;
    Operation operation{};
    std::uint32_t source_port = 0, destination_port = 0;  ///< 24 bits
    std::uint32_t source_qpn = 0, destination_qpn = 0;  ///< of the queue pairs that carry messages
    std::uint32_t source_id = 0, destination_id = 0;
    std::uint8_t read_limit = 0;  ///< RDMA reads that the sender serves at a time
    std::uint8_t retries = 0;     ///< how often the sender has sent messages of this exchange again
    std::uint8_t mtu = 0;         ///< ibv_mtu; 0 from peers too old to send it
    QpAddress sender;
    /// The message's second address: over a socket the sender's sockaddr_in, else the receiver's.
    AddressBytes other_address{};
    std::array<std::byte, kMaxPrivateData> private_data{};  ///< zeros behind `private_data_size`
    std::size_t private_data_size = 0;

    /// The data as the consumer of a socket's active side gets it: always the whole field.
    std::span<const std::byte> whole_private_data() const { return private_data; }
    std::span<const std::byte> given_private_data() const {
        return {private_data.data(), private_data_size};
    }
};

/// @param header kHeaderSize bytes of zeros.
void write_header(std::byte* header, const Message& message);
void write_operation(std::byte* header, Operation operation);
void write_private_data_size(std::byte* header, std::size_t size);

std::uint16_t read_version(const std::byte* header);
Operation read_operation(const std::byte* header);
/// Reads the fields as they are. The private data stays empty; its size, which may be beyond
/// kMaxPrivateData, is set.
Message read_header(const std::byte* header);

/// @return whether a request or reply names a queue pair that this side can connect to or send to,
/// or else what is wrong with it.
support::Result<void> check_offer(const Message& message);

}  // namespace dapl::exchange
