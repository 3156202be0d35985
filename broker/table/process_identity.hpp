// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The identity of a process, unique until the machine restarts: a pid is used again, but with
/// another start time.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace dapl::memory {

struct ProcessIdentity {
    std::int32_t pid = 0;
    std::uint64_t start = 0;  ///< clock ticks since boot
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// @return the calling process. Its start is 0 if /proc cannot be read.
ProcessIdentity this_process();
/// @return whether the process still runs; a zombie does not.
bool is_alive(const ProcessIdentity& process);
/// @return the number of the pid namespace of this process; 0 if /proc cannot be read.
std::uint64_t pid_namespace();

}  // namespace dapl::memory
