// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/message.hpp"

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "dapl/base/codes.hpp"

namespace dapl::scm {
namespace {

constexpr std::uint16_t kFirstShortHeader = 8;
constexpr std::uint16_t kFirstWithMtu = 9;
constexpr std::uint32_t kLargestQpn = 0xFFFFFF;
constexpr std::uint32_t kDisconnectWord = 0xDEAD;
constexpr std::uint32_t kFirstConsumerQpn = 2;
constexpr std::uint16_t kFirstMulticastLid = 0xC000;
constexpr std::uint8_t kMulticastGidPrefix = 0xFF;

/// Offsets into the header; those into an address count from its own start.
namespace at {
constexpr std::size_t kVersion = 0;
constexpr std::size_t kOperation = 2;
constexpr std::size_t kPrivateDataSize = 16;
constexpr std::size_t kReadLimit = 28;
constexpr std::size_t kMtu = 32;
constexpr std::size_t kSender = 36;
constexpr std::size_t kSenderAddress = 64;
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

void put_address(std::byte* to, const QpAddress& address) {
    put(to + at::kLid, address.lid);
    put(to + at::kQpn, address.qpn);
    std::memcpy(to + at::kGid, address.gid.data(), address.gid.size());
    put(to + at::kServiceLevel, address.service_level);
    put(to + at::kQpType, address.qp_type);
}

QpAddress get_address(const std::byte* from) {
    QpAddress address;
    address.lid = get<std::uint16_t>(from + at::kLid);
    address.qpn = get<std::uint32_t>(from + at::kQpn);
    std::memcpy(address.gid.data(), from + at::kGid, address.gid.size());
    address.service_level = get<std::uint8_t>(from + at::kServiceLevel);
    address.qp_type = get<std::uint8_t>(from + at::kQpType);
    return address;
}

/// Puts the data behind the header, and sets the sizes.
void add_private_data(Bytes& bytes, Shape shape, std::span<const std::byte> data) {
    const std::size_t size = std::min(data.size(), kMaxPrivateData);
    put(bytes.data() + at::kPrivateDataSize, static_cast<std::uint16_t>(size));
    std::copy_n(data.begin(), size, bytes.data() + header_size(shape));
    bytes.resize(header_size(shape) + size);
}

tl::unexpected<support::Error> refused(const std::string& what) {
    return support::failure(raw(DAT_INVALID_PARAMETER), what);
}

}  // namespace

bool QpAddress::is_unicast() const {
    return qpn >= kFirstConsumerQpn && qpn < kLargestQpn && lid < kFirstMulticastLid &&
           gid[0] != kMulticastGidPrefix;
}

Shape shape_of(std::uint16_t version) {
    return version < kFirstShortHeader ? Shape::kOld : Shape::kCurrent;
}

Bytes encode(const Message& message, Shape shape) {
    Bytes bytes;
    std::byte* to = bytes.data();
    put(to + at::kVersion, message.version);
    put(to + at::kOperation, static_cast<std::uint16_t>(message.operation));
    put(to + at::kReadLimit, message.read_limit);
    put(to + at::kMtu, message.mtu);
    put_address(to + at::kSender, message.sender);
    std::memcpy(to + at::kSenderAddress, &message.sender_address, sizeof message.sender_address);
    add_private_data(bytes, shape, message.given_private_data());
    return bytes;
}

Bytes encode_reject(std::span<const std::byte> request, Shape shape, Operation operation,
                    std::span<const std::byte> data) {
    Bytes bytes;
    std::copy_n(request.begin(), std::min(request.size(), kHeaderSize), bytes.data());
    put(bytes.data() + at::kOperation, static_cast<std::uint16_t>(operation));
    add_private_data(bytes, shape, data);
    return bytes;
}

Bytes encode_ready_to_use() {
    Bytes bytes;
    put(bytes.data() + at::kVersion, kOwnVersion);
    put(bytes.data() + at::kOperation, static_cast<std::uint16_t>(Operation::kReadyToUse));
    bytes.resize(kShortMessageSize);
    return bytes;
}

Bytes encode_disconnect() {
    Bytes bytes;
    put(bytes.data(), kDisconnectWord);
    bytes.resize(kShortMessageSize);
    return bytes;
}

std::size_t Reader::wanted() const {
    if (expected_ == Expected::kReadyToUse) return kShortMessageSize;
    return header_size(shape_) + (has_header_ ? message_.private_data_size : 0);
}

std::span<std::byte> Reader::space() {
    // A peer that falls back to the old header may still put version 9 into it (see
    // repeats_data()): then there are two more bytes. Nothing else follows a request before the
    // answer.
    const bool may_be_longer = expected_ == Expected::kRequest && shape_ == Shape::kCurrent;
    const std::size_t end = wanted() + (may_be_longer ? kOldHeaderSize - kHeaderSize : 0);
    return {bytes_.data() + size_, end - size_};
}

support::Result<bool> Reader::added(std::size_t count) {
    size_ += count;
    if (const auto checked = check_start(); !checked) return tl::unexpected(checked.error());
    if (expected_ == Expected::kReadyToUse) return size_ == kShortMessageSize;
    if (!has_header_ && size_ >= kHeaderSize)
        if (const auto read = read_header(); !read) return tl::unexpected(read.error());
    if (!has_header_ || size_ < wanted()) return false;
    const std::size_t beyond = size_ - wanted();
    if (beyond == 1) return false;
    if (beyond == 2 && repeats_data())
        read_private_data(kOldHeaderSize);
    else
        read_private_data(header_size(shape_));
    return true;
}

bool Reader::ended_here() {
    // The reference implementation rejects old peers with a header of the current size.
    const bool is_reject = has_header_ && message_.operation != Operation::kReply;
    if (expected_ != Expected::kReply || !is_reject || shape_ != Shape::kOld) return false;
    if (size_ != kHeaderSize + message_.private_data_size) return false;
    shape_ = Shape::kCurrent;
    read_private_data(kHeaderSize);
    return true;
}

/// Distinguishes the fallback of the reference implementation from a peer that has sent something
/// else after its request: in the fallback the two unused bytes are the first of the private data,
/// which follow once more. Such a peer expects an answer in the current shape.
bool Reader::repeats_data() const {
    const std::size_t compared = std::min(message_.private_data_size, kOldHeaderSize - kHeaderSize);
    return std::memcmp(bytes_.data() + kHeaderSize, bytes_.data() + kOldHeaderSize, compared) == 0;
}

support::Result<void> Reader::check_start() const {
    if (size_ < at::kOperation) return {};
    const auto version = get<std::uint16_t>(bytes_.data() + at::kVersion);
    if (version < kLowestVersion) return refused("version " + std::to_string(version));
    if (size_ < kShortMessageSize) return {};
    const auto number = get<std::uint16_t>(bytes_.data() + at::kOperation);
    const auto operation = static_cast<Operation>(number);
    const bool fits = expected_ == Expected::kRequest      ? operation == Operation::kRequest
                      : expected_ == Expected::kReadyToUse ? operation == Operation::kReadyToUse
                                                           : true;  // not a reply: rejection
    if (!fits) return refused("operation " + std::to_string(number));
    return {};
}

support::Result<void> Reader::read_header() {
    const std::byte* from = bytes_.data();
    const auto size = get<std::uint16_t>(from + at::kPrivateDataSize);
    if (size > kMaxPrivateData) return refused(std::to_string(size) + " bytes of private data");
    message_.private_data_size = size;
    message_.version = get<std::uint16_t>(from + at::kVersion);
    message_.operation = static_cast<Operation>(get<std::uint16_t>(from + at::kOperation));
    message_.read_limit = get<std::uint8_t>(from + at::kReadLimit);
    message_.mtu =
        message_.version < kFirstWithMtu ? std::uint8_t{0} : get<std::uint8_t>(from + at::kMtu);
    message_.sender = get_address(from + at::kSender);
    std::memcpy(&message_.sender_address, from + at::kSenderAddress,
                sizeof message_.sender_address);
    if (shape_of(message_.version) == Shape::kOld) shape_ = Shape::kOld;
    has_header_ = true;
    const bool is_offer =
        message_.operation == Operation::kRequest || message_.operation == Operation::kReply;
    if (!is_offer) return {};  // the other fields of a rejection have no meaning
    if (message_.sender.qpn > kLargestQpn)
        return refused("queue pair number " + std::to_string(message_.sender.qpn));
    if (message_.sender.qp_type != IBV_QPT_RC && message_.sender.qp_type != IBV_QPT_UD)
        return refused("queue pair type " + std::to_string(message_.sender.qp_type));
    // A connection to a bad address fails; a datagram would go wherever the address leads.
    if (message_.sender.qp_type == IBV_QPT_UD && !message_.sender.is_unicast())
        return refused("an address that no datagram endpoint has");
    if (message_.version >= kFirstWithMtu &&
        (message_.mtu < IBV_MTU_256 || message_.mtu > IBV_MTU_4096))
        return refused("MTU code " + std::to_string(message_.mtu));
    return {};
}

void Reader::read_private_data(std::size_t start) {
    std::copy_n(bytes_.data() + start, message_.private_data_size, message_.private_data.begin());
}

}  // namespace dapl::scm
