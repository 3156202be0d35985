// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Libraries that are mixed up: in the directories where the loader looks, and in one process.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/machine.hpp"

namespace doctor {

/// Where the loader looks: LD_LIBRARY_PATH as the process was started with, then what
/// /etc/ld.so.conf and its files name, then the default directories. Each once, links resolved.
std::vector<std::string> loader_directories(const View& view);

/// One soname in several directories.
void check_installed(const View& view, const std::vector<std::string>& directories,
                     Findings& findings);
/// @param pid a number of /proc, or `self`. What a process has loaded: one library from two files,
/// and files that are gone.
void check_process(const View& view, const std::string& pid, Findings& findings);

}  // namespace doctor
