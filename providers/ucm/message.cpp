// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/message.hpp"

#include <algorithm>
#include <string>

#include "dapl/base/codes.hpp"

namespace dapl::ucm {
namespace {

tl::unexpected<support::Error> refused(const std::string& what) {
    return support::failure(raw(DAT_INVALID_PARAMETER), what);
}

bool is_known(Operation operation) {
    return operation >= Operation::kRequest && operation <= Operation::kDisconnected;
}

}  // namespace

Bytes encode(const Message& message) {
    Bytes bytes;
    write_header(bytes.bytes_.data(), message);
    const auto data = message.given_private_data();
    std::ranges::copy(data, bytes.bytes_.begin() + exchange::kHeaderSize);
    bytes.size_ += data.size();
    return bytes;
}

support::Result<Message> decode(std::span<const std::byte> datagram) {
    if (datagram.size() < exchange::kHeaderSize)
        return refused(std::to_string(datagram.size()) + " bytes");
    const std::uint16_t version = exchange::read_version(datagram.data());
    if (version < exchange::kLowestVersion) return refused("version " + std::to_string(version));
    Message message = exchange::read_header(datagram.data());
    if (!is_known(message.operation))
        return refused("operation " + std::to_string(static_cast<int>(message.operation)));
    // Other messages have what is left of the request in this field; so has an answer without data,
    // which then ends where the data would begin.
    const std::size_t claimed = carries_data(message.operation) ? message.private_data_size : 0;
    const auto data = datagram.subspan(exchange::kHeaderSize);
    message.private_data_size = std::min(claimed, data.size());
    if (message.private_data_size > exchange::kMaxPrivateData)
        return refused(std::to_string(message.private_data_size) + " bytes of private data");
    std::copy_n(data.begin(), message.private_data_size, message.private_data.begin());
    const bool is_offer =
        message.operation == Operation::kRequest || message.operation == Operation::kReply;
    if (is_offer)
        if (const auto checked = check_offer(message); !checked)
            return tl::unexpected(checked.error());
    return message;
}

}  // namespace dapl::ucm
