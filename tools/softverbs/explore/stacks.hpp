// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records where the threads of a run are: of one that hangs, or of one that has crashed.
#pragma once

#include "tools/softverbs/explore/child.hpp"

namespace softverbs::explore {

/// @param scratch a directory for files of its own.
/// @param stop as for await().
/// @return the stacks of all threads, by gdb(1) if it is installed and permitted, else what
/// /proc/PID/task shows of them.
std::string stacks_of(const std::vector<Process>& processes, const std::string& scratch, int stop);

/// @return the stacks of all threads in a core file, by gdb(1); "" if it shows none.
std::string stacks_in_core(const std::string& core, const std::string& scratch, int stop);

/// @return the functions in them, by which two runs are compared; "" if there are none.
std::string functions_in(const std::string& stacks);

}  // namespace softverbs::explore
