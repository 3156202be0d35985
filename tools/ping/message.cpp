// SPDX-License-Identifier: BSD-2-Clause
#include "tools/ping/message.hpp"

#include <endian.h>

#include <cstring>

namespace ping {
namespace {

constexpr std::uint64_t kMark = 0x4441545f50494e47;  // "DAT_PING"
constexpr std::uint32_t kVersion = 1;

struct Head {
    std::uint64_t mark;
    std::uint32_t version, kind;
    std::uint64_t sequence;
};
static_assert(sizeof(Head) == kSmallestSize);

Head read_head(std::span<const std::byte> bytes) {
    Head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    return {be64toh(head.mark), be32toh(head.version), be32toh(head.kind), be64toh(head.sequence)};
}

std::byte content(std::size_t place, std::uint64_t sequence) {
    constexpr std::uint64_t kStep = 131;
    return static_cast<std::byte>(place + sequence * kStep);
}

}  // namespace

void write_message(std::span<std::byte> bytes, Kind kind, std::uint64_t sequence) {
    const Head head{htobe64(kMark), htobe32(kVersion), htobe32(static_cast<std::uint32_t>(kind)),
                    htobe64(sequence)};
    std::memcpy(bytes.data(), &head, sizeof head);
    for (std::size_t i = sizeof head; i < bytes.size(); ++i) bytes[i] = content(i, sequence);
}

std::string check_message(std::span<const std::byte> bytes, Kind kind, std::uint64_t sequence) {
    if (bytes.size() < sizeof(Head)) return "the message is too short";
    const Head head = read_head(bytes);
    if (head.mark != kMark || head.version != kVersion) return "the message is not from dat_ping";
    if (head.kind != static_cast<std::uint32_t>(kind)) return "the message is of the wrong kind";
    if (head.sequence != sequence)
        return "the message is number " + std::to_string(head.sequence) + ", not " +
               std::to_string(sequence);
    for (std::size_t i = sizeof head; i < bytes.size(); ++i)
        if (bytes[i] != content(i, sequence))
            return "byte " + std::to_string(i) + " of the message is wrong";
    return {};
}

bool turn_into_answer(std::span<std::byte> bytes) {
    if (bytes.size() < sizeof(Head)) return false;
    Head head = read_head(bytes);
    if (head.mark != kMark || head.version != kVersion ||
        head.kind != static_cast<std::uint32_t>(Kind::kRequest))
        return false;
    const std::uint32_t kind = htobe32(static_cast<std::uint32_t>(Kind::kAnswer));
    std::memcpy(bytes.data() + offsetof(Head, kind), &kind, sizeof kind);
    return true;
}

void write_hello(std::span<std::byte, Hello::kSize> bytes, const Hello& hello) {
    const std::uint64_t mark = htobe64(kMark);
    const std::uint32_t numbers[] = {htobe32(kVersion), htobe32(hello.size)};
    std::memcpy(bytes.data(), &mark, sizeof mark);
    std::memcpy(bytes.data() + sizeof mark, numbers, sizeof numbers);
}

std::optional<Hello> read_hello(std::span<const std::byte> bytes) {
    std::uint64_t mark;
    std::uint32_t numbers[2];
    static_assert(sizeof mark + sizeof numbers == Hello::kSize);
    if (bytes.size() < Hello::kSize) return std::nullopt;  // the transport may pad it
    std::memcpy(&mark, bytes.data(), sizeof mark);
    std::memcpy(numbers, bytes.data() + sizeof mark, sizeof numbers);
    const Hello hello{be32toh(numbers[1])};
    if (be64toh(mark) != kMark || be32toh(numbers[0]) != kVersion || hello.size < kSmallestSize ||
        hello.size > kLargestSize)
        return std::nullopt;
    return hello;
}

const char* refusal_text(std::span<const std::byte> bytes) {
    if (!bytes.empty() && bytes[0] == std::byte{static_cast<unsigned char>(Refusal::kFull)})
        return "the server has too many clients";
    if (!bytes.empty() && bytes[0] == std::byte{static_cast<unsigned char>(Refusal::kStrange)})
        return "the server runs another version of dat_ping";
    return "the program there rejected it: is it a dat_ping?";
}

}  // namespace ping
