// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes what a peer can send over a socket: any bytes, in any pieces. The reader must stay within
/// its buffer, keep the bounds that it promises, and reach the same result however the bytes are
/// cut.
///
/// Input: a byte for the expected message (0 a request, 1 a reply, 2 a reply with the header of old
/// peers, 3 the confirmation); a byte for the number of cuts, and one for each piece's length; then
/// the bytes of the stream.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "providers/sockets/message.hpp"
#include "test/fuzz/input.hpp"

namespace {

using dapl::sockets::Reader;
using test::Input;
using test::require;

constexpr std::uint8_t kUnreliableDatagram = 4;  ///< IBV_QPT_UD

struct Reading {
    enum class End { kMore, kComplete, kRefused } end = End::kMore;
    std::size_t taken = 0;
    bool is_reject_of_old_peer = false;
};

Reader reader_of(std::uint8_t kind) {
    switch (kind & 3) {
        case 0:
            return Reader(Reader::Expected::kRequest);
        case 1:
            return Reader(Reader::Expected::kReply);
        case 2:
            return Reader(Reader::Expected::kReply, dapl::sockets::Shape::kOld);
        default:
            return Reader(Reader::Expected::kReadyToUse);
    }
}

/// @param lengths of the pieces, used in turn over and over; 0 for as much as fits.
Reading read(Reader& reader, std::span<const std::byte> stream,
             std::span<const std::byte> lengths) {
    Reading reading;
    for (std::size_t piece = 0; reading.taken < stream.size(); ++piece) {
        const std::span<std::byte> space = reader.space();
        require(!space.empty(), "there is room while the message is not complete");
        require(reader.size() + space.size() <= dapl::sockets::kMaxMessageSize,
                "the room is bounded");
        std::size_t count = std::min(space.size(), stream.size() - reading.taken);
        const auto wanted = lengths.empty()
                                ? std::size_t{0}
                                : std::to_integer<std::size_t>(lengths[piece % lengths.size()]);
        if (wanted > 0) count = std::min(count, wanted);
        std::memcpy(space.data(), stream.data() + reading.taken, count);
        reading.taken += count;
        const auto added = reader.added(count);
        require(reader.size() == reading.taken, "every byte is counted");
        if (!added) {
            require(!added.error().cause.empty(), "a refusal has a cause");
            reading.end = Reading::End::kRefused;
            return reading;
        }
        if (*added) {
            reading.end = Reading::End::kComplete;
            return reading;
        }
    }
    reading.is_reject_of_old_peer = reader.ended_here();
    return reading;
}

void check_message(const Reader& reader, std::uint8_t kind) {
    const dapl::sockets::Message& message = reader.message();
    require(message.private_data_size <= dapl::sockets::kMaxPrivateData,
            "private data has its bound");
    require(message.given_private_data().size() == message.private_data_size, "it is all there");
    if ((kind & 3) == 3) return;
    require(message.version >= dapl::exchange::kLowestVersion, "the version is one that is served");
    for (std::size_t i = message.private_data_size; i < message.private_data.size(); ++i)
        require(message.private_data[i] == std::byte{0}, "zeros follow the private data");
    const bool is_offer = message.operation == dapl::sockets::Operation::kRequest ||
                          message.operation == dapl::sockets::Operation::kReply;
    if (is_offer) require(message.sender.qpn <= 0xFFFFFF, "queue pair numbers have 24 bits");
    if (is_offer && message.sender.qp_type == kUnreliableDatagram)
        require(message.sender.is_unicast(), "datagrams go to one queue pair of a consumer");
    // The message can be encoded again, and a rejection of it can be encoded.
    const auto again = dapl::sockets::encode(message, reader.shape());
    Reader second = reader_of((kind & 3) == 2 && reader.shape() == dapl::sockets::Shape::kOld ? 2
                              : (kind & 3) == 0                                               ? 0
                                                                                              : 1);
    if (read(second, again.all(), {}).end == Reading::End::kComplete)
        require(second.message().private_data == message.private_data, "it reads the same again");
    const auto reject = dapl::sockets::encode_reject(reader.bytes(), reader.shape(),
                                                     dapl::sockets::Operation::kConsumerReject,
                                                     message.whole_private_data());
    require(reject.all().size() ==
                dapl::sockets::header_size(reader.shape()) + dapl::sockets::kMaxPrivateData,
            "a rejection has its size");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const std::uint8_t kind = input.byte();
    const auto lengths = input.bytes(input.byte() % 32);
    const auto stream = input.bytes(size);

    Reader in_pieces = reader_of(kind);
    const Reading first = read(in_pieces, stream, lengths);
    if (first.end == Reading::End::kComplete || first.is_reject_of_old_peer)
        check_message(in_pieces, kind);

    constexpr std::array<std::byte, 1> kSingly{std::byte{1}};
    Reader bytewise = reader_of(kind);
    const Reading second = read(bytewise, stream, kSingly);
    const bool may_differ = (kind & 3) == 0;  // 2 more bytes make another message: timing decides
    require(may_differ || first.end == second.end, "the pieces do not decide");
    if (first.end == Reading::End::kRefused || second.end == Reading::End::kRefused)
        require(first.end == second.end, "what is refused is refused in any pieces");
    if (!may_differ && first.end == Reading::End::kComplete)
        require(in_pieces.message().private_data == bytewise.message().private_data,
                "the same message comes out");
    return 0;
}
