// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The numbers of trace levels, and the level that a library starts with: its own setting, else
/// what the reference's variables ask for, else 3.
#pragma once

#include <dat2/dat_trclvl.h>

#include "support/trace/trace_ring.hpp"

namespace support {

/// In dat_trclvl_query(): unknown. In dat_trclvl_modify(): leave unchanged.
inline constexpr int kUnknownTraceLevel = -1;

constexpr bool is_trace_level(int level) {
    return level >= 0 && level <= DAT_TRCLVL_MAX;
}

/// Reads the environment. @return 0 to 10.
int level_from_settings();

namespace detail {
int initial_trace_level();
}

/// @return the level in force in this library, 0 to 10. A relaxed load, so a change is seen soon,
/// not at once.
inline int trace_level() {
    const int level = opendat_trace_object.level.load(std::memory_order_relaxed);
    return level >= 0 ? level : detail::initial_trace_level();
}
void set_trace_level(int level);

}  // namespace support
