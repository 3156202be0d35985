// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Configuration files, read whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

namespace support {

/// Why a file was not read.
struct Unreadable {
    int error;         ///< errno value; 0 where the reason is the file's own
    std::string text;  ///< "Permission denied", "it is not a regular file"
};

enum class Owner {
    kAnybody,
    kTrusted,  ///< root or who runs the process, and writable by nobody else than owner and group
};

/// @param most bytes. Does not wait for a pipe that nobody writes to.
tl::expected<std::string, Unreadable> read_text_file(const std::string& path, std::size_t most,
                                                     Owner owner = Owner::kAnybody);

/// Whether the process has rights that who started it, or whose file it reads, may not have: a
/// set-uid program or root.
bool is_privileged();

}  // namespace support
