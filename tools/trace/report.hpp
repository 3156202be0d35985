// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What dat_trace prints.
#pragma once

#include <span>
#include <string>

#include "tools/trace/timeline.hpp"

namespace tracing {

/// Version of the JSON document: grows when a member changes its meaning or goes.
inline constexpr int kJsonVersion = 1;

/// Whether only events of connections between the sources are shown: there are several sources, and
/// such connections.
bool is_about_connections(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all);

/// @param all every event, not only those of connections between the sources.
std::string to_table(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all);
std::string to_json(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all);
/// One line for each library: its level.
std::string levels(const Snapshot& snapshot);

}  // namespace tracing
