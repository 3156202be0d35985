// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory that this process needs, for the programs that measure connections.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

/// @param field of /proc/self/status that has a size, with its colon. @return bytes.
inline std::size_t size_in_status(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field, 0) == 0) return 1024 * std::stoul(line.substr(field.size()));
    return 0;
}

/// @return bytes of memory private to this process, and of the arena that softverbs shares with
/// peers.
inline std::size_t memory_in_use() {
    std::size_t bytes = size_in_status("RssAnon:");
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code closed_meanwhile;
        const auto target = std::filesystem::read_symlink(entry.path(), closed_meanwhile).string();
        struct stat file {};
        if (target.find("softverbs-arena") == std::string::npos) continue;
        if (::stat(entry.path().c_str(), &file) == 0) bytes += 512 * file.st_blocks;
        break;  // the first is this process's own, which is opened before any peer's
    }
    return bytes;
}

/// @return bytes of this process's page tables, which grow with every mapping of a peer's memory.
inline std::size_t page_tables() {
    return size_in_status("VmPTE:");
}
