// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace conf {

/// Replaces the file's content at once: readers see the old one or the new one, also when the
/// machine stops on the way. Mode and owner stay; where the path is a symbolic link, what it points
/// at is replaced. A file that is not there is made, readable for all.
/// @throw std::system_error
void replace_file(const std::string& path, const std::string& text);

}  // namespace conf
