// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Prints the measurements, as a table and as the lines that scripts look for.
#pragma once

#include <cstdint>
#include <vector>

#include "test/dtest/endpoint.hpp"
#include "test/dtest/options.hpp"

namespace dtest {

enum class Operation { kWrite, kWriteImmediate, kRead, kMessagePingPong, kWritePingPong };

struct Result {
    Operation operation;
    std::uint32_t size;   ///< bytes of one transfer
    std::uint32_t count;  ///< transfers by this side, or round trips
    double total_us;      ///< without the time of filling and checking
};

/// @param one_way whether only one side wrote; if not, the writes of both sides are counted, as in
/// the result lines
void print_table(const std::vector<Result>& results, bool one_way);
/// @param empty_polls the number of polls that found no event
void print_result_lines(const std::vector<Result>& results, const Options& options,
                        unsigned long empty_polls);
void print_step_times(const std::vector<Result>& results, const StepTimes& steps);

}  // namespace dtest
