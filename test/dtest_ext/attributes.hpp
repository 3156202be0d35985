// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Prints what a provider reports about itself.
#pragma once

#include "test/dtest_ext/options.hpp"

namespace dtest_ext {

/// Prints the provider's attributes, queried without opening it if the library supports that.
void print_attributes(const Options& options);

}  // namespace dtest_ext
