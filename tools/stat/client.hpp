// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Queries processes over their sockets.
#pragma once

#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

/// Throws tools::Failure with the next step if there is no such process, it belongs to another
/// user, it does not report its state, or its answer cannot be read. A stopped process has no
/// libraries.
Process ask(pid_t pid);

/// @return the processes of this user that report their state, except the known ones. Waits only
/// briefly for each, and leaves out those that do not answer.
std::vector<Process> ask_others(const std::vector<Process>& known);

}  // namespace stat_tool
