// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Knows what other devices and connection managers offer, so that a program hears of a limit
/// before it runs there.
#pragma once

#include <cstdint>
#include <string>

namespace check {

/// A program may need more of these than some transport has.
enum class Need { kPrivateData, kSegments, kReadSegments };

/// @return whether every transport has so much.
bool is_everywhere(Need need, std::uint64_t number);

/// @return "17 segments in one request".
std::string text_of(Need need, std::uint64_t number);

/// @return the transports that have less, with what they have: "siw (6), mlx5 (30)".
std::string those_without(Need need, std::uint64_t number);

}  // namespace check
