// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Runs the program of `softverbs run` in a process of its own.
#pragma once

namespace softverbs::tool {

/// Runs the program, which is set up already, and passes SIGTERM and SIGHUP on to it.
/// @return the program's exit status, or 128 and the number of the signal that ended it.
int run_child(char** program);

}  // namespace softverbs::tool
