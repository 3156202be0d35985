// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of softverbs-explore(1).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace softverbs::explore {

/// One line, for the list of commands.
inline constexpr char kPurpose[] =
    "runs a command under many seeds of fault rules, reports failures";

struct Options {
    std::string rules;        ///< their text
    std::string rules_given;  ///< the same as `softverbs run --faults` has it
    unsigned seeds = 100, first_seed = 1;
    double timeout = 60;  ///< seconds for each run
    unsigned jobs = 1;
    bool ignore_output = false;
    std::string normalize;      ///< a shell command that filters the output; "": none
    std::vector<int> accepted;  ///< statuses with which a run may end, beside 0
    std::string keep;           ///< the directory for what was found; "": nothing is kept
    bool json = false;
    std::string junit;                ///< a file; "": none
    std::vector<std::string> device;  ///< options that `softverbs run` gets
    std::vector<std::string> command;
};

/// @return nullopt when the process must exit with `status`: the help was printed on stdout, errors
/// on stderr.
std::optional<Options> parse(int argc, char** argv, int& status);

}  // namespace softverbs::explore
