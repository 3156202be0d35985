// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names of functions that the dynamic linker does not know, from the symbol table in the object's
/// file.
#pragma once

#include <cstdint>
#include <string>

namespace check {

/// Reads the file, so it is for reports. A file that is no object, or is damaged, has no names.
/// @param address as in the file. @return the demangled name; "" if there is none.
std::string function_in(const char* path, std::uint64_t address);

}  // namespace check
