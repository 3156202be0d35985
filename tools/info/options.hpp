// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/common/options.hpp"

namespace info {

struct Options {
    std::string explain;       ///< the IA to explain; "" for none
    bool thread_safe = false;  ///< asks as programs built with DAT_THREADSAFE do
    bool settings = false;
    std::string ia;  ///< the IA whose settings are shown; "" for the settings of all
    bool verbose = false;
    bool json = false;
};

/// @return the command line that fills `options`.
tools::CommandLine command_line(Options& options);

}  // namespace info
