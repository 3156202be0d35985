// SPDX-License-Identifier: BSD-2-Clause
#include "providers/exchange/message.hpp"

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <string>

#include "dapl/base/codes.hpp"

namespace dapl::exchange {
namespace {

constexpr std::uint32_t kFirstConsumerQpn = 2;
constexpr std::uint16_t kFirstMulticastLid = 0xC000;
constexpr std::uint8_t kMulticastGidPrefix = 0xFF;
constexpr int kPortBits = 16;  ///< the bits above have a byte of their own

/// Offsets into the header; those into an address count from its own start.
namespace at {
constexpr std::size_t kVersion = 0;
constexpr std::size_t kOperation = 2;
constexpr std::size_t kSourcePort = 4;
constexpr std::size_t kDestinationPort = 6;
constexpr std::size_t kSourceQpn = 8;
constexpr std::size_t kDestinationQpn = 12;
constexpr std::size_t kPrivateDataSize = 16;
constexpr std::size_t kSourceId = 20;
constexpr std::size_t kDestinationId = 24;
constexpr std::size_t kReadLimit = 28;
constexpr std::size_t kSourcePortHigh = 29;
constexpr std::size_t kDestinationPortHigh = 30;
constexpr std::size_t kRetries = 31;
constexpr std::size_t kMtu = 32;
constexpr std::size_t kSender = 36;
constexpr std::size_t kOtherAddress = 64;
constexpr std::size_t kLid = 2;
constexpr std::size_t kQpn = 4;
constexpr std::size_t kGid = 8;
constexpr std::size_t kServiceLevel = 26;
constexpr std::size_t kQpType = 27;
}  // namespace at

template <class Integer>
void put(std::byte* to, Integer value) {
    if constexpr (sizeof value == sizeof(std::uint16_t)) value = htons(value);
    if constexpr (sizeof value == sizeof(std::uint32_t)) value = htonl(value);
    std::memcpy(to, &value, sizeof value);
}
template <class Integer>
Integer get(const std::byte* from) {
    Integer value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (sizeof value == sizeof(std::uint16_t)) return ntohs(value);
    if constexpr (sizeof value == sizeof(std::uint32_t)) return ntohl(value);
    return value;
}

void put_port(std::byte* header, std::size_t low, std::size_t high, std::uint32_t port) {
    put(header + low, static_cast<std::uint16_t>(port));
    put(header + high, static_cast<std::uint8_t>(port >> kPortBits));
}
std::uint32_t get_port(const std::byte* header, std::size_t low, std::size_t high) {
    return get<std::uint16_t>(header + low) | std::uint32_t{get<std::uint8_t>(header + high)}
                                                  << kPortBits;
}

tl::unexpected<support::Error> refused(const std::string& what) {
    return support::failure(raw(DAT_INVALID_PARAMETER), what);
}

}  // namespace

bool QpAddress::is_unicast() const {
    return qpn >= kFirstConsumerQpn && qpn < kLargestQpn && lid < kFirstMulticastLid &&
           gid[0] != kMulticastGidPrefix;
}

AddressBytes encode(const QpAddress& address) {
    AddressBytes bytes{};
    std::byte* const to = bytes.data();
    put(to + at::kLid, address.lid);
    put(to + at::kQpn, address.qpn);
    std::memcpy(to + at::kGid, address.gid.data(), address.gid.size());
    put(to + at::kServiceLevel, address.service_level);
    put(to + at::kQpType, address.qp_type);
    return bytes;
}

QpAddress decode(const AddressBytes& bytes) {
    const std::byte* const from = bytes.data();
    QpAddress address;
    address.lid = get<std::uint16_t>(from + at::kLid);
    address.qpn = get<std::uint32_t>(from + at::kQpn);
    std::memcpy(address.gid.data(), from + at::kGid, address.gid.size());
    address.service_level = get<std::uint8_t>(from + at::kServiceLevel);
    address.qp_type = get<std::uint8_t>(from + at::kQpType);
    return address;
}

void write_operation(std::byte* header, Operation operation) {
    put(header + at::kOperation, static_cast<std::uint16_t>(operation));
}
void write_private_data_size(std::byte* header, std::size_t size) {
    put(header + at::kPrivateDataSize, static_cast<std::uint16_t>(size));
}

void write_header(std::byte* header, const Message& message) {
    put(header + at::kVersion, message.version);
    write_operation(header, message.operation);
    put_port(header, at::kSourcePort, at::kSourcePortHigh, message.source_port);
    put_port(header, at::kDestinationPort, at::kDestinationPortHigh, message.destination_port);
    put(header + at::kSourceQpn, message.source_qpn);
    put(header + at::kDestinationQpn, message.destination_qpn);
    write_private_data_size(header, message.private_data_size);
    put(header + at::kSourceId, message.source_id);
    put(header + at::kDestinationId, message.destination_id);
    put(header + at::kReadLimit, message.read_limit);
    put(header + at::kRetries, message.retries);
    put(header + at::kMtu, message.mtu);
    const AddressBytes sender = encode(message.sender);
    std::memcpy(header + at::kSender, sender.data(), sender.size());
    std::memcpy(header + at::kOtherAddress, message.other_address.data(), kAddressSize);
}

std::uint16_t read_version(const std::byte* header) {
    return get<std::uint16_t>(header + at::kVersion);
}
Operation read_operation(const std::byte* header) {
    return static_cast<Operation>(get<std::uint16_t>(header + at::kOperation));
}

Message read_header(const std::byte* header) {
    Message message;
    message.version = read_version(header);
    message.operation = read_operation(header);
    message.source_port = get_port(header, at::kSourcePort, at::kSourcePortHigh);
    message.destination_port = get_port(header, at::kDestinationPort, at::kDestinationPortHigh);
    message.source_qpn = get<std::uint32_t>(header + at::kSourceQpn);
    message.destination_qpn = get<std::uint32_t>(header + at::kDestinationQpn);
    message.private_data_size = get<std::uint16_t>(header + at::kPrivateDataSize);
    message.source_id = get<std::uint32_t>(header + at::kSourceId);
    message.destination_id = get<std::uint32_t>(header + at::kDestinationId);
    message.read_limit = get<std::uint8_t>(header + at::kReadLimit);
    message.retries = get<std::uint8_t>(header + at::kRetries);
    message.mtu =
        message.version < kFirstWithMtu ? std::uint8_t{0} : get<std::uint8_t>(header + at::kMtu);
    AddressBytes sender;
    std::memcpy(sender.data(), header + at::kSender, kAddressSize);
    message.sender = decode(sender);
    std::memcpy(message.other_address.data(), header + at::kOtherAddress, kAddressSize);
    return message;
}

support::Result<void> check_offer(const Message& message) {
    if (message.sender.qpn > kLargestQpn)
        return refused("queue pair number " + std::to_string(message.sender.qpn));
    if (message.sender.qp_type != IBV_QPT_RC && message.sender.qp_type != IBV_QPT_UD)
        return refused("queue pair type " + std::to_string(message.sender.qp_type));
    // A connection to a bad address fails; a datagram would go wherever the address leads.
    if (message.sender.qp_type == IBV_QPT_UD && !message.sender.is_unicast())
        return refused("an address that no datagram endpoint has");
    if (message.version >= kFirstWithMtu &&
        (message.mtu < IBV_MTU_256 || message.mtu > IBV_MTU_4096))
        return refused("MTU code " + std::to_string(message.mtu));
    return {};
}

}  // namespace dapl::exchange
