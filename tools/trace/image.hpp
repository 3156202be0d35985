// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The memory of a process, running or in a core file. Its contents are not trusted: the process
/// may be broken, or not ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tracing {

/// A part of the address space that is mapped from a file and can be written to.
struct Mapping {
    std::uint64_t start, end;
    std::string path;
};

class Image {
  public:
    Image() = default;
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
    virtual ~Image() = default;

    /// @return whether all of it could be read.
    virtual bool read(std::uint64_t address, void* into, std::size_t size) const = 0;

    std::string source;   ///< description for messages: "process 4711", "core file core.4711"
    std::string program;  ///< name of the program
    std::uint32_t pid = 0;
    bool running = false;
    std::vector<Mapping> mappings;
};

}  // namespace tracing
