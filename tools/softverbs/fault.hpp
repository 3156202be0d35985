// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs fault`: the fault rules of a fabric, and the log of faults that were applied.
#pragma once

#include "tools/softverbs/options.hpp"

namespace softverbs::tool {

/// Prints on stdout, errors on stderr. @return the exit status.
int fault(const Options& options);

}  // namespace softverbs::tool
