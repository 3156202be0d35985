// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Limits of the process and of the machine, for those whom a system call has told that one is
/// reached.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace support {

/// Whether an errno value says that descriptors, memory, space or, from a thread's start, threads
/// are used up.
bool is_limit(int error);

/// Tells the user which limit is reached and what its value is.
/// @param what it was needed for. @param path whose file system is full.
/// @return false for any other error: nothing has been told.
bool report_limit(int error, std::string_view what, const std::string& path = "/dev/shm");

/// Says what to do where memory is lacking, as the next step of a message. It takes none itself.
std::array<char, 96> advice_on_memory();

}  // namespace support
