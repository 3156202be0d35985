// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The document of --json; doc/schema/dat_stat.json describes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/stat/hang.hpp"
#include "tools/stat/state.hpp"

namespace stat_tool {

/// @param findings those of --hang; nullopt when it was not requested.
std::string to_json(const std::vector<Process>& processes,
                    const std::optional<std::vector<Finding>>& findings);

}  // namespace stat_tool
