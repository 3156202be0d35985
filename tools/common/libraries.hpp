// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds the file that the loader takes for a library's name, and says whether it is OpenDAT's.
#pragma once

#include <string>
#include <string_view>

namespace tools {

struct FoundLibrary {
    std::string file;   ///< with symbolic links resolved; "" when it cannot be loaded
    std::string error;  ///< the loader's error, when it cannot be loaded
    bool opendat = false;
};

/// Loads the library in a child process, so that nothing of it stays in this one. For libdat2,
/// whose symbol versions distinguish ours from others.
FoundLibrary find_libdat2(const std::string& name);

/// @return the loader's rule by which it found a library at `file`, whose record or name was
/// `asked`.
std::string found_by(const std::string& asked, const std::string& file);

/// @return the path with symbolic links resolved, or unchanged when that fails.
std::string resolved(const std::string& path);
/// @return `2.0.0` for `/usr/lib/libdat2.so.2.0.0`; "" when the name has no version.
std::string version_in(std::string_view file);

}  // namespace tools
