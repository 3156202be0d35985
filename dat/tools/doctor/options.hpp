// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace doctor {

struct Options {
    std::string host;  ///< the machine that listens; "" for none
    bool listen = false;
    std::string ia;                      ///< "": the first of dat.conf
    std::vector<std::string> processes;  ///< ids, to be looked at too
    unsigned short port = 45311;
    double seconds = 60;  ///< for each step of the pair and the transfer
    bool json = false;
};

/// @param exit_status of the process where there is nothing to do.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace doctor
