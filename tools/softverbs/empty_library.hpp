// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A shared library with a name, version nodes and needed libraries, but no symbol: what the
/// dynamic linker must find under a name so that programs that ask for it get the symbols of
/// others. Written here directly, because no linker need be installed where softverbs runs.
#pragma once

#include <string>
#include <vector>

namespace softverbs::tool {

struct EmptyLibrary {
    std::string soname;
    std::vector<std::string> nodes;   ///< version nodes that it claims to define
    std::vector<std::string> needed;  ///< in the order of symbol lookup
};

/// @return the file's contents, an ELF image for the machine that this program is built for.
std::string image_of(const EmptyLibrary& library);

}  // namespace softverbs::tool
