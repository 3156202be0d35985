// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory that the application shares already: a file mapped MAP_SHARED, which peers can map too.
#pragma once

#include "providers/soft/verbs/memory_map.hpp"
#include "providers/soft/verbs/shared_pages.hpp"

namespace softverbs {

/// @param pages of that mapping.
/// @param unsealed SOFTVERBS_SHARED_PAGES=always: also files that could be cut short, whose mapping
/// in a peer would then kill it.
Placement place_in_file(const Mapping& mapping, PageRange pages, bool unsealed);

/// Whether touching the file's pages cannot end in SIGBUS: it is sealed against being cut short and
/// has ordinary pages.
bool is_safe_to_map(int fd);

}  // namespace softverbs
