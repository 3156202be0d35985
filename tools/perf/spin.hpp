// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Waiting in a loop for what another processor does, as all loops that measure do.
///
/// Between two looks the processor pauses. Without that it reads ahead many times over, and has to
/// take all of it back when the line changes: an RDMA write then takes up to three times as long
/// where the two processors share a core or a cache, and a third longer where they do not.
#pragma once

#include <sched.h>

#include <algorithm>

#include "support/base/processor.hpp"

namespace perf {

/// The waits of one pass, which are alike.
class Spin {
  public:
    class Wait {
      public:
        explicit Wait(Spin& spin) : spin_(spin), until_yield_(spin.looks_before_yield_) {}
        /// A wait that a yield has ended makes the next one yield sooner, since both ends seem to
        /// share a processor. One that needed no yield makes it yield later.
        ~Wait() {
            unsigned& looks = spin_.looks_before_yield_;
            if (has_yielded_)
                looks = std::max(looks / 2, kFewestLooks);
            else if (!has_ever_yielded_)
                looks = std::min(looks * 2, kMostLooks);
        }
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;
        /// The caller has looked in vain. @return whether this has yielded the processor.
        bool idle() {
            has_yielded_ = --until_yield_ == 0;
            if (has_yielded_) [[unlikely]] {
                sched_yield();
                has_ever_yielded_ = true;
                until_yield_ = kFewestLooks;
            } else {
                support::pause_processor();
            }
            return has_yielded_;
        }

      private:
        Spin& spin_;
        unsigned until_yield_;
        bool has_ever_yielded_ = false;
        bool has_yielded_ = false;  ///< since the last look
    };

  private:
    /// Some ten microseconds: a short wait for another processor never yields.
    static constexpr unsigned kMostLooks = 1024, kFewestLooks = 4;
    unsigned looks_before_yield_ = kMostLooks;
};

}  // namespace perf
