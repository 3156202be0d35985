// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Atomic operations: atomic among verbs operations on the same process (IBV_ATOMIC_HCA), by a lock
/// in the arena of the memory's owner. The lock holds the number of a queue pair of the process
/// that took it: whoever waits asks whether that process has ended, and then breaks the lock.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "providers/soft/softverbs/verbs/layout.hpp"
#include "providers/soft/softverbs/verbs/transfer.hpp"

namespace softverbs {

struct AtomicRequest {
    std::uint64_t address = 0;  ///< in the owner, aligned to 8
    bool is_compare = false;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;

    bool changes(std::uint64_t found) const { return !is_compare || found == compare_add; }
    /// @return what a word that it changes becomes.
    std::uint64_t result(std::uint64_t found) const {
        return is_compare ? swap : found + compare_add;
    }
};

class Process;

class AtomicLock {
  public:
    /// Spins for a moment; on a service thread, which answers others, hardly at all: if it is not
    /// held then, the request is to be tried again later.
    /// @param qp_num of this process. @param process this one.
    AtomicLock(ArenaHeader& header, std::uint32_t qp_num, Process& process);
    ~AtomicLock();
    bool held() const { return held_; }
    AtomicLock(const AtomicLock&) = delete;
    AtomicLock& operator=(const AtomicLock&) = delete;

  private:
    [[gnu::noinline, gnu::cold]] void wait(Process& process);
    /// @return the holder's number; 0: it is ours now.
    std::uint32_t take();

    std::atomic<std::uint32_t>& word_;
    const std::uint32_t qp_num_;
    bool held_ = false;
};

/// Both with the lock held. @return the value found.
std::uint64_t run_atomic_here(const AtomicRequest& request);
/// @return 0 or an errno.
int run_atomic_in(const Image& image, const AtomicRequest& request, std::uint64_t& found);

}  // namespace softverbs
