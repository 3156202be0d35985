// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs run`: another program in our place, with the environment that gives it soft0.
#pragma once

#include <string>

#include "providers/soft/tool/options.hpp"

namespace softverbs::tool {

/// @return the exit status when the program could not be started; told on stderr. Else never.
int run(const Options& options);

/// libsoftverbs.so that belongs to this program: installed beside it, or in its build tree. @return
/// "" when there is none.
std::string find_library();

}  // namespace softverbs::tool
