// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The threads of this process. A thread that has been joined may be listed for a moment longer:
/// the kernel wakes the joining thread before it removes the other from the list.
#pragma once

#include <dirent.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace test {

/// @return whether the thread runs: it is listed and not exiting (PF_EXITING).
inline bool is_running_thread(const std::string& id) {
    constexpr unsigned long kExiting = 0x4;
    std::ifstream file("/proc/self/task/" + id + "/stat");
    std::string text;
    std::getline(file, text, '\0');
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return false;
    unsigned long flags = 0;
    // After the name come the state, five numbers and the flags.
    return std::sscanf(text.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
           (flags & kExiting) == 0;
}

/// @return number of running threads, -1 if they cannot be listed.
inline int threads() {
    DIR* directory = opendir("/proc/self/task");
    if (!directory) return -1;
    int count = 0;
    while (const dirent* entry = readdir(directory))
        count += entry->d_name[0] != '.' && is_running_thread(entry->d_name);
    closedir(directory);
    return count;
}

}  // namespace test
