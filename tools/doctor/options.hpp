// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/common/options.hpp"

namespace doctor {

struct Options {
    std::string host;  ///< the machine that runs --listen; "" for none
    bool listen = false;
    std::string ia;                      ///< "": the first of dat.conf
    std::vector<std::string> processes;  ///< ids of processes to check too
    unsigned short port = 45312;
    double seconds = 60;  ///< for each step of the pair and the transfer
    bool json = false;
};

/// @return the command line that fills `options`.
tools::CommandLine command_line(Options& options);

}  // namespace doctor
