// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Atomic operations, atomic with respect to other verbs operations on memory of the same process
/// (IBV_ATOMIC_HCA): by the processor's atomics on shared pages, elsewhere by a lock in the arena
/// of the memory's owner. The lock holds the number of a queue pair of the process that took it, so
/// a waiter can check whether that process has ended, and then break the lock.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/memory/transfer.hpp"

namespace softverbs {

struct AtomicRequest {
    std::uint64_t address = 0;  ///< aligned to 8; where the word is mapped here, or in the owner
    bool is_compare = false;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;

    bool changes(std::uint64_t found) const { return !is_compare || found == compare_add; }
    /// @return the new value of a word that the request changes.
    std::uint64_t result(std::uint64_t found) const {
        return is_compare ? swap : found + compare_add;
    }
};

class Process;

class AtomicLock {
  public:
    /// Spins for the lock for a moment; on a service thread, which serves others too, very briefly.
    /// If held() is false afterwards, the request has to be tried again later.
    /// @param qp_num of a queue pair of this process. @param process this process.
    AtomicLock(ArenaHeader& header, std::uint32_t qp_num, Process& process);
    ~AtomicLock();
    bool held() const { return held_; }
    AtomicLock(const AtomicLock&) = delete;
    AtomicLock& operator=(const AtomicLock&) = delete;

  private:
    [[gnu::noinline, gnu::cold]] void wait(Process& process);
    /// Tries to take the lock. @return the holder's number; 0: this object holds it now.
    std::uint32_t take();

    std::atomic<std::uint32_t>& word_;
    const std::uint32_t qp_num_;
    bool held_ = false;
};

/// Runs an operation on a word that is mapped here, with the processor's atomics. @return the value
/// found.
std::uint64_t run_atomic_here(const AtomicRequest& request);
/// Runs an operation on a peer's memory by process_vm, with the lock held. @return 0 or an errno.
int run_atomic_in(const Image& image, const AtomicRequest& request, std::uint64_t& found);

}  // namespace softverbs
