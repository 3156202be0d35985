// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

/// @return the text format that Prometheus reads (version 0.0.4): gauges of what is posted and what
/// waits, counters of everything that is counted.
std::string to_prometheus(const std::vector<Process>& processes);

}  // namespace stat_tool
