// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The timed loops.
#pragma once

#include "tools/perf/histogram.hpp"
#include "tools/perf/lane.hpp"

namespace perf {

/// The work of one lane in a pass.
struct Part {
    Histogram ticks;             ///< for each operation of a latency test, at the requester
    std::uint64_t messages = 0;  ///< sent
    std::uint64_t began_ns = 0;
    std::uint64_t ended_ns = 0;
};

/// Runs one lane's share of a pass to its end: no request is outstanding afterwards.
/// @param requester whether this side begins; with two_ways both sides do
void run_part(Lane& lane, const Pass& pass, bool requester, Part& part);

}  // namespace perf
