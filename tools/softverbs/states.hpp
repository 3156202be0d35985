// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs port` and `softverbs device`: the states of a fabric's devices.
#pragma once

#include "tools/softverbs/options.hpp"

namespace softverbs::tool {

/// Prints on stdout, errors on stderr. @return the exit status.
int port(const Options& options);
int device(const Options& options);

}  // namespace softverbs::tool
