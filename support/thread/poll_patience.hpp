// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Decides when a poller that finds nothing yields the processor. If both ends of a connection poll
/// on one core, every further poll delays what it waits for; if they have cores of their own, each
/// yield costs time in which a message is not seen. How long a yield takes, and whether something
/// is there after it, shows which case it is.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "support/base/processor.hpp"

namespace support {

/// Not thread safe: the polls of one queue, or of one thread.
class PollPatience {
  public:
    /// Some ten microseconds: a short wait for another processor never yields.
    static constexpr unsigned kMostPolls = 512;

    void found_something() {
        // The yield ended the wait, so both ends seem to share a processor.
        if (gave_way_ && empty_polls_ == 0) limit_ = std::max(limit_ / 2, 1u);
        empty_polls_ = 0;
        gave_way_ = false;
    }
    /// @return whether to yield() now.
    bool found_nothing() {
        if (++empty_polls_ < limit_) return false;
        empty_polls_ = 0;
        return true;
    }
    /// Yields the processor; the caller holds no lock. @return whether another thread ran.
    static bool yield() {
        const std::uint64_t before = processor_ticks();
        sched_yield();
        return processor_ticks() - before > kTicksOfASwitch;
    }
    void yielded(bool somebody_ran) {
        gave_way_ = somebody_ran;
        if (!somebody_ran) limit_ = std::min(limit_ * 2, kMostPolls);
    }

  private:
    /// In processor ticks: more than a system call takes, less than two context switches and what
    /// runs between them.
    static constexpr std::uint64_t kTicksOfASwitch = 2000;
    unsigned limit_ = kMostPolls;
    unsigned empty_polls_ = 0;
    bool gave_way_ = false;
};

}  // namespace support
