// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// `softverbs ls` and `softverbs clean`.
#pragma once

#include "tools/softverbs/options.hpp"

namespace softverbs::tool {

/// Prints on stdout, errors on stderr. @return the exit status.
int list(const Options& options);
int clean(const Options& options);

/// @return what `softverbs ls` prints of a fabric; "" if it cannot be read, which is reported.
/// Thread safe.
std::string fabric_text(const std::string& path);

}  // namespace softverbs::tool
