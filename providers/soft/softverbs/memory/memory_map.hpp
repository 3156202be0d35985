// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The memory mappings of this process, as the kernel reports them.
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
    std::uint64_t offset = 0;  ///< offset of `begin` in the file
    std::uint64_t inode = 0;   ///< 0: no file
    dev_t device = 0;
    bool readable = false;
    bool writable = false;
    bool shared = false;
    std::string name;  ///< path, or the kernel's name for the mapping
};

/// Thread safe, except for open() and close().
class MemoryMap {
  public:
    /// Called before use, and again in a child of fork(). Without it, find() reads the text form of
    /// the mappings each time.
    void open();
    void close() { maps_.reset(); }
    bool is_open() const { return maps_.valid(); }
    /// @return the mapping that contains the address. Makes one system call, or on older kernels
    /// many.
    std::optional<Mapping> find(std::uint64_t address) const;

  private:
    UniqueFd maps_;
};

}  // namespace softverbs
