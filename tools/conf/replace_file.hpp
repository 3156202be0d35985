// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace conf {

/// Replaces the file's content atomically: readers see the old or the new content, even if the
/// machine stops half way. Keeps mode and owner; if the path is a symbolic link, replaces the file
/// that it points to. Creates a missing file, readable by all.
/// @throw std::system_error
void replace_file(const std::string& path, const std::string& text);

}  // namespace conf
