// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which file the loader takes for a library's name, and whose it is.
#pragma once

#include <string>
#include <string_view>

namespace tools {

struct FoundLibrary {
    std::string file;   ///< with its links resolved; "" where it cannot be loaded
    std::string error;  ///< the loader's, where it cannot
    bool opendat = false;
};

/// Loads it in a child process, so that nothing of it stays in this one. For libdat2, whose symbol
/// versions tell ours from others'.
FoundLibrary find_libdat2(const std::string& name);

/// @return by which of the loader's rules it came to a library of this file, whose record or name
/// was `asked`.
std::string found_by(const std::string& asked, const std::string& file);

/// @return the path with its links resolved, itself where it cannot be.
std::string resolved(const std::string& path);
/// @return `2.0.0` of `/usr/lib/libdat2.so.2.0.0`; "" where the name has none.
std::string version_in(std::string_view file);

}  // namespace tools
