// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of dat_perf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/perf/measurement.hpp"

namespace perf {

struct Options {
    std::string host;   ///< empty for a server
    bool both = false;  ///< client and server are both started here
    std::string provider = "soft0";
    unsigned short port = 15829;
    std::vector<Test> tests = {Test::latency, Test::bandwidth, Test::rate};
    std::vector<Operation> operations;  ///< empty: all transfers that both sides offer
    std::vector<std::uint64_t> sizes;   ///< empty: usual_sizes() of the test
    std::vector<bool> blocking = {false};
    std::vector<bool> two_ways = {false};
    std::uint64_t iterations = 0;  ///< of each endpoint; 0: as many as fit into `seconds`
    double seconds = 0.25;         ///< of each measurement
    std::uint64_t warm_up = 0;     ///< iterations; 0: a fifth of the measurement
    std::vector<int> cpus;
    std::vector<int> peer_cpus;
    bool histogram = false;
    bool json = false;
    bool quiet = false;
    std::string plot;  ///< a file; empty for none
    Terms terms;

    /// @return every line of the result, in order. @param offered operations, one bit each
    std::vector<Measurement> measurements(unsigned offered) const;
};

std::vector<std::uint64_t> usual_sizes(Test test);
/// @return `64 KiB`, `1000 B`, ...
std::string size_name(std::uint64_t size);

/// Parses the command line. A wrong one is explained on stderr.
/// @return the options, or nothing when the process shall exit with `exit_status`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace perf
