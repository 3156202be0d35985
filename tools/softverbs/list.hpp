// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs ls` and `softverbs clean`.
#pragma once

#include "tools/softverbs/options.hpp"

namespace softverbs::tool {

/// Prints on stdout, errors on stderr. @return the exit status.
int list(const Options& options);
int clean(const Options& options);

}  // namespace softverbs::tool
