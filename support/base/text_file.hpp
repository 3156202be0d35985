// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reads configuration files whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

namespace support {

/// Why a file was not read.
struct Unreadable {
    int error;         ///< errno value; 0 when the file itself is unsuitable
    std::string text;  ///< "Permission denied", "it is not a regular file"
};

enum class Owner {
    kAnybody,
    kTrusted,  ///< root or the user that runs the process; writable by nobody but owner and group
};

/// @param most largest size in bytes. Does not block on a pipe that has no writer.
tl::expected<std::string, Unreadable> read_text_file(const std::string& path, std::size_t most,
                                                     Owner owner = Owner::kAnybody);

/// @return whether the process has rights that the user who started it, or whose file it reads, may
/// not have: a set-uid program or root.
bool is_privileged();

}  // namespace support
