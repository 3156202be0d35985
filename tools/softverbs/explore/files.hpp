// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Small files as a whole.
#pragma once

#include <cstddef>
#include <string>

namespace softverbs::explore {

/// The most that is kept of an output, in bytes.
inline constexpr std::size_t kMostOutput = std::size_t{4} << 20;

/// @return the beginning of the file, as far as it can be read; files below /proc vanish at any
/// time.
std::string read_file(const std::string& path, std::size_t most = kMostOutput);

/// @throw std::system_error when it cannot.
void write_file(const std::string& path, const std::string& text);

}  // namespace softverbs::explore
