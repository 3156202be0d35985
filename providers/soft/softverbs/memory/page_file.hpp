// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The page file: one sparse memfd per process, in which the offset of a page is its address in the
/// process. A peer thus finds every page by its address alone, and adjacent or overlapping regions
/// need no coordination. Peers receive its descriptor together with the arena's.
#pragma once

#include <cstdint>

namespace softverbs {

/// The size of the address space of a process; pages are allocated when they are touched.
inline constexpr std::uint64_t kPageFileSize = std::uint64_t{1} << 47;
inline constexpr std::uint64_t kPage = 4096;

/// A page-aligned range of addresses.
struct PageRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool empty() const { return begin >= end; }
    std::uint64_t length() const { return empty() ? 0 : end - begin; }
    bool operator==(const PageRange&) const = default;
};

/// @return a page file, sealed against changes of its size, or -1 with errno.
int make_page_file();

/// Replaces pages that are mapped from the page file by private copies at the same addresses.
/// @return 0, or an errno with nothing changed.
int make_private(int page_file, PageRange pages);

/// Frees the memory of the pages by punching a hole: whoever has them mapped reads zeros.
void discard_pages(int page_file, PageRange pages);

}  // namespace softverbs
