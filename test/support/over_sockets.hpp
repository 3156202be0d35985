// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// For test programs that connect over TCP sockets (libdaploscm) and transfer data over softverbs.
/// Include it before test/support/dat_conf.hpp. Each run uses a loopback address of its own.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// Runs before the constructor in test/support/dat_conf.hpp, which executes the program again.
[[gnu::constructor(101)]] void use_sockets() {
    if (getenv("DAT_OVERRIDE")) return;
    char address[32];
    const int pid = getpid();
    snprintf(address, sizeof address, "127.%d.%d.%d", 64 + (pid >> 16 & 63), pid >> 8 & 255,
             pid & 255);
    setenv("DAPL_SCM_BIND_ADDRESS", address, 1);
    setenv("DAT_TEST_ADDRESS", address, 1);
    setenv("DAT_TEST_IA", "scm0", 1);
}

}  // namespace
