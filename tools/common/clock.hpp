// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Time, all on CLOCK_MONOTONIC.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace tools {

/// @return microseconds since some fixed moment.
inline double now_us() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// The moment at which a wait gives up.
class Deadline {
  public:
    explicit Deadline(double seconds_from_now) : seconds_(seconds_from_now) {}
    bool passed() const { return now_us() >= end_us_; }
    /// @return the time left, at least 0 and at most `limit`.
    double left_us(double limit) const { return std::clamp(end_us_ - now_us(), 0.0, limit); }
    /// @return the whole time that was allowed, for messages.
    double seconds() const { return seconds_; }

  private:
    double seconds_;
    double end_us_ = now_us() + seconds_ * 1e6;
};

}  // namespace tools
