// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Waiting in a loop for what another processor does, as all loops that measure do.
#pragma once

#include "support/base/processor.hpp"
#include "support/thread/poll_patience.hpp"

namespace perf {

/// One of several waits that are alike.
class SpinWait {
  public:
    enum class For {
        /// Between two looks the processor pauses. Without that it reads ahead many times over, and
        /// has to take all of it back when the line changes: an RDMA write then takes up to three
        /// times as long where the two processors share a core or a cache, and a third longer where
        /// they do not.
        kMemory,
        /// A look takes a lock, so the processor does not read ahead, and a pause would only delay
        /// the next look.
        kQueue,
    };

    SpinWait(support::PollPatience& patience, For what) : patience_(patience), what_(what) {}
    ~SpinWait() { patience_.found_something(); }
    SpinWait(const SpinWait&) = delete;
    SpinWait& operator=(const SpinWait&) = delete;

    /// The caller has looked in vain. @return whether this has yielded the processor.
    bool idle() {
        if (patience_.found_nothing()) [[unlikely]] {
            patience_.yielded(support::PollPatience::yield());
            return true;
        }
        if (what_ == For::kMemory) support::pause_processor();
        return false;
    }

  private:
    support::PollPatience& patience_;
    const For what_;
};

}  // namespace perf
