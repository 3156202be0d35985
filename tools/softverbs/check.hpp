// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs run --check`: says by its exit status whether anything was found.
#pragma once

namespace softverbs::tool {

inline constexpr int kFound = 99;

/// Runs the program as run_child() does. @return its status, or kFound if it or a process that it
/// has started has added to the log of findings, unless a signal has ended it.
int run_and_check(char** program);

}  // namespace softverbs::tool
