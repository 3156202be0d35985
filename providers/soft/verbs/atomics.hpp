// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Atomic operations: atomic among verbs operations on the same process (IBV_ATOMIC_HCA), by a lock
/// in the arena of the memory's owner. The lock holds the number of the owner's queue pair on whose
/// behalf it was taken; the owner clears it when that queue pair's requester dies.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "providers/soft/verbs/layout.hpp"

namespace softverbs {

struct AtomicRequest {
    std::uint64_t address = 0;  ///< in the owner, aligned to 8
    bool is_compare = false;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
};

class AtomicLock {
  public:
    /// Waits a little. Who holds it may have died: then its owner's service thread breaks the lock,
    /// which may be the one that waits here, for this lock or another one.
    AtomicLock(ArenaHeader& header, std::uint32_t qp_num);
    ~AtomicLock();
    bool held() const { return held_; }
    AtomicLock(const AtomicLock&) = delete;
    AtomicLock& operator=(const AtomicLock&) = delete;

  private:
    std::atomic<std::uint32_t>& word_;
    const std::uint32_t qp_num_;
    bool held_ = false;
};

/// The requester of this queue pair has died.
void break_atomic_lock(ArenaHeader& header, std::uint32_t qp_num);

/// Both with the lock held. @return the value found.
std::uint64_t run_atomic_here(const AtomicRequest& request);
/// @return 0 or an errno.
int run_atomic_in(pid_t pid, const AtomicRequest& request, std::uint64_t& found);

}  // namespace softverbs
