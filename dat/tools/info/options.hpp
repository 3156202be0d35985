// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

namespace info {

struct Options {
    std::string explain;       ///< the IA to explain; "" for none
    bool thread_safe = false;  ///< it is asked for as programs built with DAT_THREADSAFE do
    bool settings = false;
    std::string ia;  ///< whose settings; "" for those of all
    bool json = false;
};

/// @param exit_status of the process where there is nothing to do.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace info
