// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What this process has mapped where, as the kernel tells it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs {

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  ///< in the file, of `begin`
    std::uint64_t inode = 0;   ///< 0: of no file
    dev_t device = 0;
    bool readable = false;
    bool writable = false;
    bool shared = false;
    std::string name;  ///< path, or what the kernel calls it
};

/// Thread safe, but open() and close().
class MemoryMap {
  public:
    /// Before use, and again in a child of fork(). Not opened, it finds nothing.
    void open();
    void close() { maps_.reset(); }
    bool is_open() const { return maps_.valid(); }
    /// The mapping that holds the address. A system call, or on older kernels many.
    std::optional<Mapping> find(std::uint64_t address) const;

  private:
    UniqueFd maps_;
};

}  // namespace softverbs
