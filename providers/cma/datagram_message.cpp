// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/datagram_message.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace dapl::cma {
namespace {

/// The layout: two bytes with which other data is unlikely to begin, the kind, the size of the
/// data, the number of the queue pair; in a request the LID, two zeros and the GID; the data.
/// Numbers are in network order.
constexpr std::byte kMark{0xDA};
constexpr std::byte kVersion{0x02};
constexpr std::size_t kKindAt = 2, kSizeAt = 3, kQpnAt = 4, kLidAt = 8, kGidAt = 12;
constexpr std::size_t data_at(DatagramMessage::Kind kind) {
    constexpr std::size_t kAfterQpn = 8, kAfterGid = 28;
    return kind == DatagramMessage::Kind::kRequest ? kAfterGid : kAfterQpn;
}
constexpr std::uint32_t kFirstQpn = 2, kLargestQpn = 0xFFFFFE;  ///< of consumers' queue pairs
constexpr std::uint16_t kFirstMulticastLid = 0xC000;
constexpr std::uint8_t kMulticastGidPrefix = 0xFF;

bool is_well(const DatagramMessage& message) {
    if (message.kind == DatagramMessage::Kind::kReject) return true;
    return (message.kind == DatagramMessage::Kind::kRequest ||
            message.kind == DatagramMessage::Kind::kAccept) &&
           message.qpn >= kFirstQpn && message.qpn <= kLargestQpn &&
           message.port.lid < kFirstMulticastLid && message.port.gid[0] != kMulticastGidPrefix;
}

}  // namespace

DatagramBytes encode(const DatagramMessage& message) {
    DatagramBytes result;
    std::byte* to = result.bytes_.data();
    const std::size_t begin = data_at(message.kind);
    const std::size_t size = std::min(message.data.size(), result.bytes_.size() - begin);
    const std::uint32_t qpn = htonl(message.qpn);
    to[0] = kMark;
    to[1] = kVersion;
    to[kKindAt] = static_cast<std::byte>(message.kind);
    to[kSizeAt] = static_cast<std::byte>(size);
    std::memcpy(to + kQpnAt, &qpn, sizeof qpn);
    if (message.kind == DatagramMessage::Kind::kRequest) {
        const std::uint16_t lid = htons(message.port.lid);
        std::memcpy(to + kLidAt, &lid, sizeof lid);
        std::memcpy(to + kGidAt, message.port.gid.data(), message.port.gid.size());
    }
    std::copy_n(message.data.begin(), size, to + begin);
    result.size_ = begin + size;
    return result;
}

std::optional<DatagramMessage> decode(cm::PrivateData bytes) {
    if (bytes.size() <= kSizeAt || bytes[0] != kMark || bytes[1] != kVersion) return std::nullopt;
    const auto kind = static_cast<DatagramMessage::Kind>(bytes[kKindAt]);
    const std::size_t begin = data_at(kind);
    const auto size = static_cast<std::size_t>(bytes[kSizeAt]);
    if (bytes.size() < begin || size > bytes.size() - begin) return std::nullopt;
    std::uint32_t qpn;
    std::memcpy(&qpn, bytes.data() + kQpnAt, sizeof qpn);
    DatagramMessage message{kind, ntohl(qpn), bytes.subspan(begin, size)};
    if (kind == DatagramMessage::Kind::kRequest) {
        std::uint16_t lid;
        std::memcpy(&lid, bytes.data() + kLidAt, sizeof lid);
        message.port.lid = ntohs(lid);
        std::memcpy(message.port.gid.data(), bytes.data() + kGidAt, message.port.gid.size());
    }
    if (!is_well(message)) return std::nullopt;
    return message;
}

}  // namespace dapl::cma
