// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a provider says of itself.
#pragma once

#include "test/dtest_ext/options.hpp"

namespace dtest_ext {

/// Prints the provider's attributes, asked for without opening it where the library can.
void print_attributes(const Options& options);

}  // namespace dtest_ext
