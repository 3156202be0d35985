// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The arena of a process that need not be a peer and may be stopped: found among the descriptors
/// that the system shows, and checked like one that was handed over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "providers/soft/softverbs/fabric/result.hpp"
#include "providers/soft/softverbs/verbs/arena.hpp"

namespace softverbs {

class ForeignArena {
  public:
    /// The arena that the process `pid` of this user has made and that has, or had last, a region
    /// under this key. @return nothing when it has none, or two that might be meant.
    static std::optional<ForeignArena> with_region(pid_t pid, std::uint32_t key);
    ~ForeignArena();
    ForeignArena(ForeignArena&& other) noexcept;
    ForeignArena& operator=(ForeignArena&&) = delete;

    ArenaView view() const { return view_; }
    /// Entries of the table of keys, from the first on, that have ever been used.
    std::uint32_t used_keys() const;

  private:
    explicit ForeignArena(UniqueFd file) : file_(std::move(file)) {}
    bool belongs_to(pid_t pid) const;
    bool has_region(std::uint32_t key) const;
    bool map();

    UniqueFd file_;
    ArenaView view_;
};

}  // namespace softverbs
