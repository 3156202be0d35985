// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Limits of the process and of the machine, for callers whose system call failed because one is
/// reached.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace support {

/// @return whether the errno value means that descriptors, memory, space or (when a thread is
/// started) threads are used up.
bool is_limit(int error);

/// Reports which limit is reached and its value.
/// @param what what the resource was needed for. @param path a path on the file system that is
/// full.
/// @return false for any other error: nothing was reported.
bool report_limit(int error, std::string_view what, const std::string& path = "/dev/shm");

/// @return what to do when memory is short, as the next step of a message. Allocates nothing.
std::array<char, 96> advice_on_memory();

}  // namespace support
