// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The client: runs the measurements one after the other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/perf/options.hpp"
#include "tools/perf/session.hpp"

namespace perf {

/// One line of the result.
struct Result {
    Measurement measurement;
    std::uint64_t iterations = 0;  ///< of all endpoints; of both sides if both send
    std::uint64_t warm_up = 0;     ///< the same for the warm-up
    double seconds = 0;
    double messages_per_second = 0;
    double bytes_per_second = 0;
    Histogram ticks;         ///< only with latency
    double us_per_tick = 0;  ///< already halved if it is half a round trip
};

struct Findings {
    std::string provider_name;
    bool memory_from_library = false;
    std::vector<Operation> missing;  ///< requested by name, or all, but not offered
    std::vector<Result> results;
    std::size_t planned = 0;  ///< number of results when all are complete
};

/// @param channel connected to the server
/// @param findings filled as results come; valid even when this throws
/// @param found called after each new result
/// @throws Interrupted after a SIGINT
void measure(Channel& channel, const Options& options, Findings& findings,
             const std::function<void()>& found);

}  // namespace perf
