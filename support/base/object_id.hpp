// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ids that name objects in messages, traces and dat_stat: block (32 bits), kind (4), serial (28).
/// A block belongs to one library in one process, so no two objects of a machine have the same id.
#pragma once

#include <atomic>
#include <cstdint>

namespace support {

/// @return the kind that the id was made for.
inline std::uint32_t object_kind(std::uint64_t id) {
    return id >> 28 & 0xf;
}

/// Allocates the ids of a library in a process. All-zero before the first one, so a forked child
/// starts with a block of its own if this object is in pages that the kernel clears there. Thread
/// safe.
class ObjectIds {
  public:
    /// @param kind 4 bits.
    std::uint64_t next(std::uint32_t kind);

  private:
    std::atomic<std::uint64_t> last_;  ///< block, kind 0, serial
};

}  // namespace support
