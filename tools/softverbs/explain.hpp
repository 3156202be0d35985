// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs run --explain`: says which devices a program took, and why not soft0.
#pragma once

namespace softverbs::tool {

/// Runs the program, which is set up already, in a process of its own, and explains on stderr when
/// it has ended. SIGTERM and SIGHUP are passed on. @return the program's exit status, or 128 and
/// the number of the signal that ended it.
int run_and_explain(char** program);

}  // namespace softverbs::tool
