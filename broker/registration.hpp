// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A registration as its owner's data path sees it. The consumer names it by a virtual context,
/// which stays the same when the device's key changes.
///
/// A use first increments `busy` and then reads `standing`; a revocation first changes `standing`
/// and then reads `busy`. So at least one of the two sees the other, without a lock.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "broker/broker.hpp"
#include "dapl/base/dat.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {
class Lmr;
}

namespace dapl::memory {

/// A context holds a 20-bit index and, above it, a 12-bit generation, which is never 0.
inline constexpr int kContextIndexBits = 20;
inline constexpr std::uint32_t kContextIndexMask = (1U << kContextIndexBits) - 1;

enum class Standing : std::uint32_t {
    kFree,
    kStanding,
    kAnnounced,  ///< on the device until the deadline
    kGone        ///< off the device, or about to go: no use may begin
};

struct Registration {
    // For the data path, without a lock.
    std::atomic<DAT_LMR_CONTEXT> context{0};  ///< 0: belongs to no LMR
    std::atomic<Standing> standing{Standing::kFree};
    std::atomic<std::uint32_t> busy{0};   ///< uses begun and not ended, also those of earlier LMRs
    std::atomic<std::uint32_t> key{0};    ///< the device's lkey
    std::atomic<SlotUse*> use{nullptr};   ///< the slot's line, which other processes read
    std::atomic<Time> deadline{kNever};   ///< of the announcement
    std::atomic<bool> comes_back{false};  ///< registered again at the next post that names it
    std::atomic<bool> goes_when_idle{false};
    std::atomic<bool> listed{false};  ///< in the list of idle ones to release
    Registration* next_listed = nullptr;

    // Guarded by the mutex, which comes before an IA's mutex and the locks of the objects.
    support::Mutex mutex;
    Lmr* lmr GUARDED_BY(mutex) = nullptr;
    SlotId slot GUARDED_BY(mutex);
    Class kind GUARDED_BY(mutex) = Class::kRdma;
    DAT_RMR_CONTEXT remote_context GUARDED_BY(mutex) = 0;  ///< as the consumer knows it
    std::uint32_t explicit_uses GUARDED_BY(mutex) = 0;     ///< by dat_reg_lmr_begin_use()
    std::uint32_t generation = 0;  ///< of the context; written by allocate() only
    std::uint32_t index = 0;       ///< its own; constant

    // Approximate. Used by eviction policies and for display only, never for correctness.
    void show_busy(std::uint32_t count) {
        if (SlotUse* seen = use.load(std::memory_order_relaxed))
            seen->busy.store(count, std::memory_order_relaxed);
    }
    void count_use() {
        SlotUse* seen = use.load(std::memory_order_relaxed);
        if (!seen) return;
        timespec coarse;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
        constexpr Time kNanoseconds = 1000000000;
        seen->last_use.store(
            static_cast<Time>(coarse.tv_sec) * kNanoseconds + static_cast<Time>(coarse.tv_nsec),
            std::memory_order_relaxed);
        seen->use_count.store(seen->use_count.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
    }
    /// Begins a use, which the caller has to end whatever this returns. @return the registration's
    /// standing.
    Standing begin() {
        show_busy(busy.fetch_add(1, std::memory_order_seq_cst) + 1);
        return standing.load(std::memory_order_seq_cst);
    }
    /// Ends a use. @return whether it was the last one.
    bool end() {
        const std::uint32_t left = busy.fetch_sub(1, std::memory_order_seq_cst) - 1;
        show_busy(left);
        return left == 0;
    }
};

}  // namespace dapl::memory
