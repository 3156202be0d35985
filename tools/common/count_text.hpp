// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace tools {

/// @param of the name of one. @return "1 thread", "2 threads".
inline std::string count_text(std::uint64_t count, const char* of) {
    return std::to_string(count) + ' ' + of + (count == 1 ? "" : "s");
}

}  // namespace tools
