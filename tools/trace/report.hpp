// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Prints the reports of dat_trace.
#pragma once

#include <span>
#include <string>

#include "tools/trace/timeline.hpp"

namespace tracing {

/// Version of the JSON document: raised when a member changes its meaning or is removed.
inline constexpr int kJsonVersion = 1;

/// @return whether only events of connections between the sources are shown: if `all` is not set,
/// and there are several sources with such connections.
bool is_about_connections(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all);

/// @param all show every event, not only those of connections between the sources.
std::string to_table(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all);
std::string to_json(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all);
/// @return one line per library, with its level.
std::string levels(const Snapshot& snapshot);

}  // namespace tracing
