// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Substitutes for the system's libibverbs and librdmacm on a machine without RDMA: one device,
/// fake0, and one line in FAKE_SYSTEM_LOG for each call that reaches them. With FAKE_DEVICE_FAILS
/// in the environment the device does not open.
#pragma once

#include <cstdio>
#include <cstdlib>

#define FAKE extern "C" __attribute__((visibility("default")))

/// Appends the name to the log, a file that the test names.
inline void note_call(const char* name) {
    const char* path = std::getenv("FAKE_SYSTEM_LOG");
    std::FILE* log = path ? std::fopen(path, "a") : nullptr;
    if (!log) return;
    std::fprintf(log, "%s\n", name);
    std::fclose(log);
}
