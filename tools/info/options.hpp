// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/common/options.hpp"

namespace info {

struct Options {
    std::string explain;       ///< the IA to explain; "" for none
    bool thread_safe = false;  ///< it is asked for as programs built with DAT_THREADSAFE do
    bool settings = false;
    std::string ia;  ///< whose settings; "" for those of all
    bool verbose = false;
    bool json = false;
};

/// What fills them.
tools::CommandLine command_line(Options& options);

}  // namespace info
