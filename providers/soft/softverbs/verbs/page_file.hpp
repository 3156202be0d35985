// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The page file: one sparse memfd per process whose offsets are the process's addresses. A page
/// that is mapped from it lies at its own offset, so that a peer finds every page by its address
/// alone, and regions that touch or overlap need no agreement. Peers get its descriptor together
/// with the arena's.
#pragma once

#include <cstdint>

namespace softverbs {

/// As large as the addresses of a process; pages appear when they are touched.
inline constexpr std::uint64_t kPageFileSize = std::uint64_t{1} << 47;
inline constexpr std::uint64_t kPage = 4096;

/// Addresses of whole pages.
struct PageRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool empty() const { return begin >= end; }
    std::uint64_t length() const { return empty() ? 0 : end - begin; }
    bool operator==(const PageRange&) const = default;
};

/// @return a page file, sealed against a change of its size, or -1 with errno.
int make_page_file();

/// Replaces pages that are mapped from the page file by private copies of them, at the same
/// addresses. @return 0 or an errno, with nothing changed.
int make_private(int page_file, PageRange pages);

/// Gives the memory of the pages back. Whoever has them mapped finds zeros there.
void discard_pages(int page_file, PageRange pages);

}  // namespace softverbs
