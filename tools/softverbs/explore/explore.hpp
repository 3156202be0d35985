// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs explore`, see softverbs-explore(1).
#pragma once

#include "tools/softverbs/explore/single_run.hpp"

namespace softverbs::explore {

/// @param argv with the command's name in argv[0].
/// @return the exit status; errors are reported on stderr.
int explore(int argc, char** argv, const Tool& tool);

}  // namespace softverbs::explore
