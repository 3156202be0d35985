// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs run`: another program in our place, with the environment that gives it soft0.
#pragma once

#include <string>

#include "tools/softverbs/options.hpp"

namespace softverbs::tool {

/// @return the exit status when the program could not be started; told on stderr. Else never.
int run(const Options& options);

/// A library that belongs to this program, as libsoftverbs.so: installed beside it, or in its build
/// tree. @return "" when there is none.
std::string find_library(const char* name);

}  // namespace softverbs::tool
