// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// For test programs that connect by datagrams (libdaploucm) and transfer data over softverbs.
/// Include it before test/support/dat_conf.hpp.
#pragma once

#include <cstdlib>

namespace {

/// Runs before the constructor in test/support/dat_conf.hpp, which executes the program again.
[[gnu::constructor(101)]] void use_datagrams() {
    if (!getenv("DAT_OVERRIDE")) setenv("DAT_TEST_IA", "ucm0", 1);
}

}  // namespace
