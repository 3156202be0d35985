// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What goes over the connection. All numbers are in network order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ping {

/// Payloads in bytes; the head is within them.
inline constexpr std::size_t kSmallestSize = 24;
inline constexpr std::size_t kLargestSize = std::size_t{1} << 20;
inline constexpr std::size_t kUsualSize = 64;

enum class Kind : std::uint32_t { kRequest = 1, kAnswer = 2 };

/// Fills a message: its head, and behind it bytes that are different in each message.
/// @param bytes at least kSmallestSize.
void write_message(std::span<std::byte> bytes, Kind kind, std::uint64_t sequence);
/// @return what is wrong with a message; empty when it is, byte for byte, this one.
std::string check_message(std::span<const std::byte> bytes, Kind kind, std::uint64_t sequence);
/// Turns a request into its answer, in place; the server leaves all else as it came.
/// @return false for what is no request.
bool turn_into_answer(std::span<std::byte> bytes);

/// Private data of the request to connect.
struct Hello {
    static constexpr std::size_t kSize = 16;
    std::uint32_t size;  ///< of the messages that will come
};
void write_hello(std::span<std::byte, Hello::kSize> bytes, const Hello& hello);
/// @return nothing for what no dat_ping of this version has said, and for a size out of bounds.
std::optional<Hello> read_hello(std::span<const std::byte> bytes);

/// Private data of a rejection: one byte.
enum class Refusal : std::uint8_t { kStrange = 1, kFull = 2 };
const char* refusal_text(std::span<const std::byte> bytes);

}  // namespace ping
