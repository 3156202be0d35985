// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/stat/hang.hpp"
#include "tools/stat/state.hpp"

namespace stat_tool {

/// @param counters whether to show the counters that are not 0, too.
std::string to_table(const Process& process, bool counters);
/// @return a line for each process, below a heading: its number, its program, its IAs and their
/// EPs.
std::string to_list(const std::vector<Process>& processes);
/// @return one line and the next step for each finding, or a line that there is none.
std::string to_text(const std::vector<Finding>& findings, std::int64_t limit_ms);

}  // namespace stat_tool
