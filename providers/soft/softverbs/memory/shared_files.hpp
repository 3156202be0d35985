// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory that the application shares already: a file mapped MAP_SHARED, which peers can map too.
#pragma once

#include "providers/soft/softverbs/memory/memory_map.hpp"
#include "providers/soft/softverbs/memory/shared_pages.hpp"

namespace softverbs {

/// Decides the placement of pages of a file.
/// @param pages begin in that mapping. A region that also covers other memory is kMixed: parts of
/// it may be on path S in other regions.
Placement place_in_file(const Mapping& mapping, PageRange pages);

/// @return whether touching the file's pages cannot raise SIGBUS: it is sealed against shrinking
/// and has ordinary pages (tmpfs).
bool is_safe_to_map(int fd);

}  // namespace softverbs
