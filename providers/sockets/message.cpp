// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/message.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "dapl/base/codes.hpp"

namespace dapl::sockets {
namespace {

using namespace exchange;

constexpr std::uint16_t kFirstShortHeader = 8;
constexpr std::uint32_t kDisconnectWord = 0xDEAD;
constexpr std::size_t kOperationAt = 2;  ///< behind the version

/// Puts the data behind the header, and sets the sizes.
void add_private_data(Bytes& bytes, Shape shape, std::span<const std::byte> data) {
    const std::size_t size = std::min(data.size(), kMaxPrivateData);
    write_private_data_size(bytes.data(), size);
    std::copy_n(data.begin(), size, bytes.data() + header_size(shape));
    bytes.resize(header_size(shape) + size);
}

tl::unexpected<support::Error> refused(const std::string& what) {
    return support::failure(raw(DAT_INVALID_PARAMETER), what);
}

Bytes encode_short(Operation operation) {
    Message message;
    message.operation = operation;
    Bytes bytes;
    write_header(bytes.data(), message);
    bytes.resize(kShortMessageSize);
    return bytes;
}

}  // namespace

Shape shape_of(std::uint16_t version) {
    return version < kFirstShortHeader ? Shape::kOld : Shape::kCurrent;
}

Bytes encode(const Message& message, Shape shape) {
    Bytes bytes;
    write_header(bytes.data(), message);
    add_private_data(bytes, shape, message.given_private_data());
    return bytes;
}

Bytes encode_reject(std::span<const std::byte> request, Shape shape, Operation operation,
                    std::span<const std::byte> data) {
    Bytes bytes;
    std::copy_n(request.begin(), std::min(request.size(), kHeaderSize), bytes.data());
    write_operation(bytes.data(), operation);
    add_private_data(bytes, shape, data);
    return bytes;
}

Bytes encode_ready_to_use() {
    return encode_short(Operation::kReadyToUse);
}
Bytes encode_late_reject() {
    return encode_short(Operation::kManagerReject);
}

Bytes encode_disconnect() {
    const std::uint32_t word = htonl(kDisconnectWord);
    Bytes bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
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

bool Reader::is_reject() const {
    return read_operation(bytes_.data()) == Operation::kManagerReject;
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
    if (size_ < kOperationAt) return {};
    const std::uint16_t version = read_version(bytes_.data());
    if (version < kLowestVersion) return refused("version " + std::to_string(version));
    if (size_ < kShortMessageSize) return {};
    const Operation operation = read_operation(bytes_.data());
    const bool fits =
        expected_ == Expected::kRequest ? operation == Operation::kRequest
        : expected_ == Expected::kReadyToUse
            ? operation == Operation::kReadyToUse || operation == Operation::kManagerReject
            : true;  // not a reply: rejection
    if (!fits) return refused("operation " + std::to_string(static_cast<unsigned>(operation)));
    return {};
}

support::Result<void> Reader::read_header() {
    message_ = exchange::read_header(bytes_.data());
    if (message_.private_data_size > kMaxPrivateData)
        return refused(std::to_string(message_.private_data_size) + " bytes of private data");
    if (shape_of(message_.version) == Shape::kOld) shape_ = Shape::kOld;
    has_header_ = true;
    const bool is_offer =
        message_.operation == Operation::kRequest || message_.operation == Operation::kReply;
    if (!is_offer) return {};  // the other fields of a rejection have no meaning
    return check_offer(message_);
}

void Reader::read_private_data(std::size_t start) {
    std::copy_n(bytes_.data() + start, message_.private_data_size, message_.private_data.begin());
}

}  // namespace dapl::sockets
