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
    bool both = false;  ///< start both client and server here
    std::string provider = "soft0";
    unsigned short port = 15829;
    std::vector<Test> tests = {Test::latency, Test::bandwidth, Test::rate};
    std::vector<Operation> operations;  ///< empty: all transfers that both sides offer
    std::vector<std::uint64_t> sizes;   ///< empty: usual_sizes() of the test
    std::vector<bool> blocking = {false};
    std::vector<bool> two_ways = {false};
    std::uint64_t iterations = 0;  ///< per endpoint; 0: as many as fit into `seconds`
    double seconds = 0.25;         ///< per measurement
    std::uint64_t warm_up = 0;     ///< iterations; 0: a fifth of the measurement
    std::vector<int> cpus;
    std::vector<int> peer_cpus;
    bool histogram = false;
    bool json = false;
    bool quiet = false;
    std::string plot;  ///< output file; empty for none
    Terms terms;

    /// @return all measurements, in the order of the result. @param offered operations, one bit
    /// each
    std::vector<Measurement> measurements(unsigned offered) const;
};

std::vector<std::uint64_t> usual_sizes(Test test);
/// @return `64 KiB`, `1000 B`, ...
std::string size_name(std::uint64_t size);

/// Parses the command line. Reports errors on stderr.
/// @return the options, or nullopt when the process must exit with `exit_status`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace perf
