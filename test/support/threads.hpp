// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The threads of this process. A thread that has been joined may be listed for a moment longer:
/// the kernel wakes the joining thread before it removes the other from the list.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
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

/// @return how often the other threads of this process have gone to sleep.
inline long sleeps_of_others() {
    long sum = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(gettid())) continue;
        std::ifstream status(task.path() / "status");
        const std::string wanted = "voluntary_ctxt_switches:";
        for (std::string line; std::getline(status, line);)
            if (line.compare(0, wanted.size(), wanted) == 0)
                sum += std::stol(line.substr(wanted.size()));
    }
    return sum;
}

}  // namespace test
