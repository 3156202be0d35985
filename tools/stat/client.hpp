// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Asks processes over their sockets.
#pragma once

#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

/// Throws tools::Failure with the next step where there is no such process, it is somebody else's,
/// it tells no state, or what it says cannot be read. One that is stopped has no libraries.
Process ask(pid_t pid);

/// The processes of this user that tell their state, less those that are known. None of them is
/// waited for long, and those that do not answer are left out.
std::vector<Process> ask_others(const std::vector<Process>& known);

}  // namespace stat_tool
