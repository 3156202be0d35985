// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/datagram_message.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace dapl::cma {
namespace {

/// The layout: two bytes with which other data is unlikely to begin, the kind, the size of the
/// data, the number of the queue pair in network order, the data.
constexpr std::byte kMark{0xDA};
constexpr std::byte kVersion{0x01};
constexpr std::size_t kKindAt = 2, kSizeAt = 3, kQpnAt = 4, kDataAt = 8;
constexpr std::uint32_t kFirstQpn = 2, kLargestQpn = 0xFFFFFE;  ///< of consumers' queue pairs

bool is_well(const DatagramMessage& message) {
    if (message.kind == DatagramMessage::Kind::kReject) return true;
    return (message.kind == DatagramMessage::Kind::kRequest ||
            message.kind == DatagramMessage::Kind::kAccept) &&
           message.qpn >= kFirstQpn && message.qpn <= kLargestQpn;
}

}  // namespace

DatagramBytes encode(const DatagramMessage& message) {
    DatagramBytes result;
    std::byte* to = result.bytes_.data();
    const std::size_t size = std::min(message.data.size(), result.bytes_.size() - kDataAt);
    const std::uint32_t qpn = htonl(message.qpn);
    to[0] = kMark;
    to[1] = kVersion;
    to[kKindAt] = static_cast<std::byte>(message.kind);
    to[kSizeAt] = static_cast<std::byte>(size);
    std::memcpy(to + kQpnAt, &qpn, sizeof qpn);
    std::copy_n(message.data.begin(), size, to + kDataAt);
    result.size_ = kDataAt + size;
    return result;
}

std::optional<DatagramMessage> decode(cm::PrivateData bytes) {
    if (bytes.size() < kDataAt || bytes[0] != kMark || bytes[1] != kVersion) return std::nullopt;
    const auto size = static_cast<std::size_t>(bytes[kSizeAt]);
    if (size > bytes.size() - kDataAt) return std::nullopt;
    std::uint32_t qpn;
    std::memcpy(&qpn, bytes.data() + kQpnAt, sizeof qpn);
    const DatagramMessage message{static_cast<DatagramMessage::Kind>(bytes[kKindAt]), ntohl(qpn),
                                  bytes.subspan(kDataAt, size)};
    if (!is_well(message)) return std::nullopt;
    return message;
}

}  // namespace dapl::cma
