// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names places of the program by its symbols and debug information.
#pragma once

#include <string>

namespace check {

struct Source {
    std::string function;  ///< demangled
    std::string file;      ///< without its directory
    int line = 0;          ///< 0: the file was compiled without debug information
};

/// Asks libdw, which is loaded if the machine has it. Reads files, so it is for reports; no lock
/// may be held. @param address of an instruction of this process. @return what is known.
Source source_of(const void* address);

}  // namespace check
