// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The timeline as a file of trace events, which Perfetto (ui.perfetto.dev) and Chromium's tracing
/// page (chrome://tracing) open. The format is Chromium's "Trace Event Format", as JSON.
#pragma once

#include <span>
#include <string>

#include "tools/trace/timeline.hpp"

namespace tracing {

/// Sources become processes; calls become slices of their threads; the states of each endpoint,
/// slices of a track of its own; messages of connections, slices that flows connect; all other
/// events, instants. Times are microseconds since the first event.
std::string to_trace_events(std::span<const Snapshot> snapshots, const Timeline& timeline);

}  // namespace tracing
