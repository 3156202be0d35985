// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The client: makes the measurements one after the other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dat/tools/perf/options.hpp"
#include "dat/tools/perf/session.hpp"

namespace perf {

/// One line of the result.
struct Result {
    Measurement measurement;
    std::uint64_t iterations = 0;  ///< of all endpoints, and both sides with two ways
    std::uint64_t warm_up = 0;     ///< likewise, before them
    double seconds = 0;
    double messages_per_second = 0;
    double bytes_per_second = 0;
    Histogram ticks;         ///< only with latency
    double us_per_tick = 0;  ///< already halved where it is half a round trip
};

struct Findings {
    std::string provider_name;
    bool memory_from_library = false;
    std::vector<Operation> missing;  ///< asked for by name, or all, and not offered
    std::vector<Result> results;
};

/// @param channel leads to the server
Findings measure(Channel& channel, const Options& options);

}  // namespace perf
