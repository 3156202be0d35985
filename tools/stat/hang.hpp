// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds what does not go on: at one end of a connection, and by comparing the two ends.
#pragma once

#include <string>
#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

struct Finding {
    pid_t pid;
    std::string kind;    ///< see doc/schema/dat_stat.json
    std::string object;  ///< id of the EP, EVD or request; of a process or an IA empty
    std::string text;    ///< what is found
    std::string next_step;
};

/// @param asked whose hangs are looked for. @param others where the other ends of connections may
/// be. @param limit_ms how long something has to last to be found.
std::vector<Finding> find_hangs(const std::vector<Process>& asked,
                                const std::vector<Process>& others, std::int64_t limit_ms);

}  // namespace stat_tool
