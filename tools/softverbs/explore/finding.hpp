// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Describes what was found, for the reports.
#pragma once

#include "tools/softverbs/explore/single_run.hpp"

namespace softverbs::explore {

/// Runs that fail in the same way.
struct Finding {
    Outcome outcome;
    Rules rules;                  ///< the fewest with which it fails, if `is_shrunk`
    bool is_shrunk = false;       ///< false: the faults of its log do not make it fail again
    std::vector<unsigned> seeds;  ///< of the runs, in ascending order
    Run example;                  ///< the first of them
    std::string command;          ///< runs it again; text for a shell
};

struct Result {
    unsigned seed;
    double seconds;
    Outcome outcome;
};

struct Findings {
    Run reference;                ///< without faults
    std::vector<Result> results;  ///< of the complete runs, in the order of their seeds
    std::vector<Finding> kinds;
    int interrupted = 0;  ///< the signal; 0: all seeds were tried
};

/// @return the rule without the numbers of the request, the queue pair and the rank: two failures
/// whose rules differ in these alone are counted as one kind.
std::string shape_of(const std::string& rule);

/// @return the shapes of the rules, sorted, each once.
std::vector<std::string> shapes_of(const Rules& rules);

/// @return those rules whose shape is one of `shapes`; none unless each shape occurs.
Rules rules_with(const Rules& rules, const std::vector<std::string>& shapes);

/// @return words as a shell reads them, separated by blanks.
std::string for_shell(const std::vector<std::string>& words);

}  // namespace softverbs::explore
