// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds what makes no progress: at one end of a connection, and by comparing the two ends.
#pragma once

#include <string>
#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

struct Finding {
    pid_t pid;
    std::string kind;    ///< see doc/schema/dat_stat.json
    std::string object;  ///< id of the EP, EVD or request; empty for a process or an IA
    std::string text;    ///< what was found
    std::string next_step;
};

/// @param asked processes to examine. @param others processes that may have the other ends of
/// connections. @param limit_ms how long a state must last to be reported.
std::vector<Finding> find_hangs(const std::vector<Process>& asked,
                                const std::vector<Process>& others, std::int64_t limit_ms);

}  // namespace stat_tool
