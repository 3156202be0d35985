// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Stand-ins for the system's libibverbs and librdmacm on a machine without RDMA: one device,
/// fake0, and a line of FAKE_SYSTEM_LOG for each call that reaches them.
#pragma once

#include <cstdio>
#include <cstdlib>

#define FAKE extern "C" __attribute__((visibility("default")))

/// Appends to the log, which is a file of the test's.
inline void note_call(const char* name) {
    const char* path = std::getenv("FAKE_SYSTEM_LOG");
    std::FILE* log = path ? std::fopen(path, "a") : nullptr;
    if (!log) return;
    std::fprintf(log, "%s\n", name);
    std::fclose(log);
}
