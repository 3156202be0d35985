// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which process, for as long as the machine runs: a pid comes again, with another start time.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace dapl::memory {

struct ProcessIdentity {
    std::int32_t pid = 0;
    std::uint64_t start = 0;  ///< clock ticks since boot
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The calling process. Its start is 0 where /proc does not tell.
ProcessIdentity this_process();
/// Whether it still runs: one that has ended and was not waited for does not.
bool is_alive(const ProcessIdentity& process);
/// Number of the name space in which pids of this process count; 0 where /proc does not tell.
std::uint64_t pid_namespace();

}  // namespace dapl::memory
