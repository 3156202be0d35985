// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The arena of the process that owns a region: this one, or one that need not be a peer and may be
/// stopped. The latter's is found among its descriptors in /proc, and checked like an arena that a
/// peer hands over.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs {

class OwnerArena {
  public:
    /// Finds the arena that the process `pid` of this user has made, and in which this key is that
    /// of a region, or was last. @return nothing when there is none, or more than one.
    static std::optional<OwnerArena> with_region(pid_t pid, std::uint32_t key);
    /// Finds this process's own arena, if this key is that of a region in it, or was last.
    static std::optional<OwnerArena> own_with_region(std::uint32_t key);
    ~OwnerArena();
    OwnerArena(OwnerArena&& other) noexcept;
    OwnerArena& operator=(OwnerArena&&) = delete;

    ArenaView view() const { return view_; }
    /// @return number of entries of the table of keys, from the first on, that may have been used.
    std::uint32_t used_keys() const;

  private:
    explicit OwnerArena(UniqueFd file) : file_(std::move(file)) {}
    bool belongs_to(pid_t pid) const;
    bool has_region(std::uint32_t key) const;
    bool map();

    UniqueFd file_;
    void* mapping_ = MAP_FAILED;  ///< made here
    ArenaView view_;
};

}  // namespace softverbs
