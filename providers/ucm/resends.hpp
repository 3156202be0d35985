// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <optional>

#include "dapl/cm/event_loop.hpp"

namespace dapl::ucm {

/// When a message that nobody has answered is sent again: after the first wait, and then at each
/// time that doubles what has passed since the first send.
class Resends {
  public:
    using Clock = cm::Timer::Clock;

    Resends() = default;
    /// The message is being sent for the first time.
    Resends(int most, std::chrono::milliseconds first_wait)
        : most_(most), wait_(first_wait), begun_(Clock::now()) {}

    int sends() const { return sends_; }
    Clock::duration spent() const { return Clock::now() - begun_; }
    /// @return when the answer to the latest send is due.
    Clock::time_point due() const { return begun_ + wait_ * (1L << (sends_ - 1)); }
    /// Counts one more send. @return false if there may be none.
    bool again() {
        if (sends_ >= most_) return false;
        ++sends_;
        return true;
    }

  private:
    int most_ = 1;
    std::chrono::milliseconds wait_{};
    Clock::time_point begun_{};
    int sends_ = 1;
};

}  // namespace dapl::ucm
