// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory that the application shares already: a file mapped MAP_SHARED, which peers can map too.
#pragma once

#include "providers/soft/softverbs/verbs/memory_map.hpp"
#include "providers/soft/softverbs/verbs/shared_pages.hpp"

namespace softverbs {

/// @param pages which begin in that mapping. A region that also covers other memory is kMixed:
/// parts of it may be on path S in other regions.
Placement place_in_file(const Mapping& mapping, PageRange pages);

/// Whether touching the file's pages cannot end in SIGBUS: it is sealed against being cut short and
/// has ordinary pages.
bool is_safe_to_map(int fd);

}  // namespace softverbs
