// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages on the connection. All numbers are in network byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ping {

/// Payload sizes in bytes, including the head.
inline constexpr std::size_t kSmallestSize = 24;
inline constexpr std::size_t kLargestSize = std::size_t{1} << 20;
inline constexpr std::size_t kUsualSize = 64;

enum class Kind : std::uint32_t { kRequest = 1, kAnswer = 2 };

/// Fills a message: its head, and after it bytes that differ from message to message.
/// @param bytes at least kSmallestSize.
void write_message(std::span<std::byte> bytes, Kind kind, std::uint64_t sequence);
/// @return what is wrong with a message; empty when it is the expected one, byte for byte.
std::string check_message(std::span<const std::byte> bytes, Kind kind, std::uint64_t sequence);
/// Turns a request into its answer, in place; leaves everything else as it came.
/// @return false if it is no request.
bool turn_into_answer(std::span<std::byte> bytes);

/// Private data of the request to connect.
struct Hello {
    static constexpr std::size_t kSize = 16;
    std::uint32_t size;  ///< of the messages to come
};
void write_hello(std::span<std::byte, Hello::kSize> bytes, const Hello& hello);
/// @return nullopt for what no dat_ping of this version has sent, and for a size out of bounds.
std::optional<Hello> read_hello(std::span<const std::byte> bytes);

/// Private data of a rejection: one byte.
enum class Refusal : std::uint8_t { kStrange = 1, kFull = 2 };
const char* refusal_text(std::span<const std::byte> bytes);

}  // namespace ping
