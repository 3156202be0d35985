// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The numbers of trace levels, and the level that a library starts with: its own setting, else
/// what the reference's variables ask for, else 3.
#pragma once

#include <dat2/dat_trclvl.h>

#include "support/trace/trace_ring.hpp"

namespace support {

/// dat_trclvl_query(): not known. dat_trclvl_modify(): to be left as it is.
inline constexpr int kUnknownTraceLevel = -1;

constexpr bool is_trace_level(int level) {
    return level >= 0 && level <= DAT_TRCLVL_MAX;
}

/// Reads the environment. @return 0 to 10.
int level_from_settings();

namespace detail {
int initial_trace_level();
}

/// Level in force in this library, 0 to 10: a relaxed load, so a change is seen soon, not at once.
inline int trace_level() {
    const int level = opendat_trace_object.level.load(std::memory_order_relaxed);
    return level >= 0 ? level : detail::initial_trace_level();
}
void set_trace_level(int level);

}  // namespace support
