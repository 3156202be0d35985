// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// libdat2 reads dat.conf while it is loaded, so a program that wants its own has to be started
/// with it: a program that includes this file starts itself once more when DAT_OVERRIDE is not set.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace test {

/// Names the IAs of the libraries just built: soft0 and its like (test/api/local.mk).
[[gnu::constructor]] inline void start_with_dat_conf(int, char** argv, char**) {
    if (getenv("DAT_OVERRIDE")) return;
    const char* build = getenv("TOP_BUILDDIR");
    const std::string file = std::string(build ? build : ".") + "/test/api/dat.conf";
    setenv("DAT_OVERRIDE", file.c_str(), 1);
    execv("/proc/self/exe", argv);
    perror("execv");
    _exit(1);
}

}  // namespace test
