// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The regions of this process that are away (suspend() in memory_regions.hpp), for the service
/// thread: it tells those who took them away that a peer waits.
#pragma once

#include "providers/soft/softverbs/arena/arena.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

struct MemoryRegion;

/// Called on the service thread with a lock held: calls no verbs.
struct RegionWanted {
    void (*tell)(void* context);
    void* context;
};

class AbsentRegions {
  public:
    void enter(MemoryRegion& region) EXCLUDES(mutex_);
    /// On return, nobody is told of the region any more.
    void leave(const MemoryRegion& region) EXCLUDES(mutex_);
    /// Tells of all regions for which a peer waits, if one has asked since the last call.
    /// @param own this process's arena.
    void serve_doorbell(ArenaView own) EXCLUDES(mutex_);

  private:
    support::Mutex mutex_;  ///< comes after all others of the device
    MemoryRegion* first_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace softverbs
