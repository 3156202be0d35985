// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A registration as its owner's data path sees it. The consumer names it by a virtual context,
/// which stays the same when the device's key changes.
///
/// A use begins by counting itself and looking then whether the registration stands; who takes it
/// away changes that first and looks at the count then. One of the two sees the other.
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

/// From low to high: 20 bits index, 12 bits generation, which is never 0.
inline constexpr int kContextIndexBits = 20;
inline constexpr std::uint32_t kContextIndexMask = (1U << kContextIndexBits) - 1;

enum class Standing : std::uint32_t {
    kFree,
    kStanding,
    kAnnounced,  ///< stands until the deadline
    kGone        ///< not on the device
};

struct Registration {
    // The data path's.
    std::atomic<DAT_LMR_CONTEXT> context{0};  ///< 0: of no LMR
    std::atomic<Standing> standing{Standing::kFree};
    std::atomic<std::uint32_t> busy{0};   ///< uses begun and not ended, of earlier LMRs too
    std::atomic<std::uint32_t> key{0};    ///< the device's local key
    std::atomic<SlotUse*> use{nullptr};   ///< what other processes see of it
    std::atomic<Time> deadline{kNever};   ///< of the announcement
    std::atomic<bool> comes_back{false};  ///< registered again at the next post
    std::atomic<bool> goes_when_idle{false};
    std::atomic<bool> listed{false};  ///< among those to give up
    Registration* next_listed = nullptr;

    // With the mutex held. It comes before an IA's mutex and the locks of the objects.
    support::Mutex mutex;
    Lmr* lmr GUARDED_BY(mutex) = nullptr;
    SlotId slot GUARDED_BY(mutex);
    Class kind GUARDED_BY(mutex) = Class::kRdma;
    DAT_RMR_CONTEXT remote_context GUARDED_BY(mutex) = 0;  ///< as the consumer was told it
    std::uint32_t explicit_uses GUARDED_BY(mutex) = 0;     ///< dat_reg_lmr_begin_use
    std::uint32_t generation = 0;                          ///< of the context; who allocates it
    std::uint32_t index = 0;                               ///< its own

    // Nearly exact: what the table shows is for who chooses, never for what is safe.
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
    /// @return how it stands; kStanding: as it should. The use has begun in any case.
    Standing begin() {
        show_busy(busy.fetch_add(1, std::memory_order_seq_cst) + 1);
        return standing.load(std::memory_order_seq_cst);
    }
    /// @return whether nobody uses it any more.
    bool end() {
        const std::uint32_t left = busy.fetch_sub(1, std::memory_order_seq_cst) - 1;
        show_busy(left);
        return left == 0;
    }
};

}  // namespace dapl::memory
