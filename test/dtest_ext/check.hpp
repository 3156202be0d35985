// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The checks: each runs on both sides at the same time, if both have what it needs.
#pragma once

#include <string>
#include <vector>

#include "test/dtest_ext/device.hpp"
#include "test/dtest_ext/options.hpp"
#include "test/dtest_ext/other_side.hpp"

namespace dtest_ext {

struct Context {
    const Options& options;
    Device& device;
    const OtherSide& other;
};

struct Check {
    const char* name;
    /// @return why this side cannot take part, or nothing.
    std::string (*lacks)(const Context&);
    /// @return what was proved. Throws a Failure at the first unexpected result.
    std::string (*run)(const Context&);
    const char* dtestx_name = nullptr;  ///< in the line that scripts written for dtestx look for
};

// One list for each file of checks.
extern const std::vector<Check> kAttributeChecks, kImmediateChecks, kAtomicChecks,
    kSharedReceiveChecks, kProposalChecks, kDelayedAckChecks, kCounterChecks, kDatagramChecks;

/// Runs the checks that the options select and prints a line for each.
void run_checks(const Context& context);

/// Has the library print the IA's counters.
void print_counters(const Context& context);

}  // namespace dtest_ext
