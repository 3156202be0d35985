// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs run --explain`: says which devices a program took, and why not soft0.
#pragma once

namespace softverbs::tool {

/// Runs the program, which is set up already, and explains on stderr when it has ended.
/// @param run run_child() or another that runs it and returns its status, which is returned.
int run_and_explain(char** program, int (*run)(char**));

}  // namespace softverbs::tool
