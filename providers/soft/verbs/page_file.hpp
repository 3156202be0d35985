// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The page file: one sparse memfd per process whose offsets are the process's addresses. What is
/// mapped from it lies at its own offset, so that a peer finds every page by its address alone, and
/// regions that touch or overlap need no agreement. Peers get it together with the arena.
#pragma once

#include <cstdint>

namespace softverbs {

/// As large as the addresses of a process; pages appear when they are touched.
inline constexpr std::uint64_t kPageFileSize = std::uint64_t{1} << 47;
inline constexpr std::uint64_t kPage = 4096;

/// @return a page file, sealed against a change of its size, or -1 with errno.
int make_page_file();

}  // namespace softverbs
