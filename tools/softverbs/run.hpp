// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs run`: replaces this process by another program, in an environment that gives it
/// soft0.
#pragma once

#include <string>

#include "tools/softverbs/options.hpp"

namespace softverbs::tool {

/// @return the exit status when the program could not be started, reported on stderr. Otherwise it
/// does not return.
int run(const Options& options);

/// Replaces this process by the program. @return as run() does.
int replace_by(char** program);

/// Finds a library that belongs to this program, such as libsoftverbs.so: installed beside it, or
/// in its build tree. @return "" if there is none.
std::string find_library(const char* name);

}  // namespace softverbs::tool
