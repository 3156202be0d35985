// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "dat/tools/stat/hang.hpp"
#include "dat/tools/stat/state.hpp"

namespace stat_tool {

/// @param counters whether those that are not 0 are shown too.
std::string to_table(const Process& process, bool counters);
/// One line and the next step for each, and where there is none a line that says so.
std::string to_text(const std::vector<Finding>& findings, std::int64_t limit_ms);

}  // namespace stat_tool
