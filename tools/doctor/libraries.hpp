// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Detects mixed libraries: in the directories that the loader searches, and in one process.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/machine.hpp"

namespace doctor {

/// @return the directories that the loader searches: LD_LIBRARY_PATH as the process was started
/// with, then those named by /etc/ld.so.conf and its files, then the default directories. Each
/// directory once, by its resolved path.
std::vector<std::string> loader_directories(const View& view);

/// Finds sonames that exist in several directories.
void check_installed(const View& view, const std::vector<std::string>& directories,
                     Findings& findings);
/// Checks what a process has loaded: one library from two files, and files that no longer exist.
/// @param pid a number in /proc, or `self`.
void check_process(const View& view, const std::string& pid, Findings& findings);

}  // namespace doctor
