// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What was measured, as a table and as the lines that scripts look for.
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
    std::uint32_t count;  ///< transfers of this side, or round trips
    double total_us;      ///< without filling and checking
};

/// @param one_way of RDMA writes; else both sides' are counted, as in the lines of results
void print_table(const std::vector<Result>& results, bool one_way);
/// @param empty_polls how often polling found nothing
void print_result_lines(const std::vector<Result>& results, const Options& options,
                        unsigned long empty_polls);
void print_step_times(const std::vector<Result>& results, const StepTimes& steps);

}  // namespace dtest
