// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of dat_trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tracing {

struct Options {
    std::vector<std::string> targets;  ///< process ids and files
    std::vector<std::string> cores;    ///< files, whatever their names are
    std::optional<int> dat_level;
    std::optional<int> dapl_level;
    std::string save;  ///< empty: the timeline is printed
    bool all = false;
    bool json = false;

    bool changes_levels() const { return dat_level || dapl_level; }
};

/// Parses the command line. A wrong one is explained on stderr.
/// @return the options, or nothing when the process shall exit with `exit_status`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace tracing
