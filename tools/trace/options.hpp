// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of dat_trace.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/common/options.hpp"

namespace tracing {

struct Options {
    std::vector<std::string> targets;  ///< process ids and files
    std::vector<std::string> cores;    ///< files, whatever they are called
    std::optional<int> dat_level;
    std::optional<int> dapl_level;
    std::string save;               ///< a file for the snapshot; empty: the timeline is printed
    std::string perfetto;           ///< a file for trace events; empty: none
    std::set<std::uint16_t> hooks;  ///< hook ids of the events to show; empty: all
    std::uint64_t object = 0;       ///< id of the object to show; 0: all
    bool all = false;
    bool json = false;

    bool changes_levels() const { return dat_level || dapl_level; }
};

/// @return the command line that fills `options`.
tools::CommandLine command_line(Options& options);

}  // namespace tracing
