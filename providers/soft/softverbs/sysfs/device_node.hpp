// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The node of each device, for programs that look for one before they list devices: UCX calls
/// stat() and access() on /dev/infiniband/NAME.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

namespace softverbs {

/// The lowest address that a program can have mapped. The kernel reports those below, and the upper
/// half, as EFAULT.
inline constexpr std::intptr_t kLowestAddress = 4096;

inline constexpr std::string_view kNodeStem = "/dev/infiniband/softverbs";  // and its number

/// Whether the path, which begins with kNodeStem, is that of a node of ours.
bool is_numbered_node(const char* path);

inline bool is_node(const char* path) {
    if (reinterpret_cast<std::intptr_t>(path) < kLowestAddress) return false;
    for (const char expected : kNodeStem)
        if (*path++ != expected) return false;
    return is_numbered_node(path - kNodeStem.size());
}

/// Grants access for reading and writing only. @return 0, or -1 with errno.
int access_node(int mode);
/// Describes the node as a character device of this user. @return 0.
int describe_node(struct stat* status);

}  // namespace softverbs
