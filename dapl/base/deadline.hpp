// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A DAT timeout as a point in time on the monotonic clock.
#pragma once

#include <time.h>

#include <algorithm>

#include "dapl/base/dat.hpp"

namespace dapl {

class Deadline {
  public:
    /// @param timeout microseconds, or DAT_TIMEOUT_INFINITE.
    explicit Deadline(DAT_TIMEOUT timeout)
        : infinite_(timeout == DAT_TIMEOUT_INFINITE), at_once_(timeout == 0) {
        clock_gettime(CLOCK_MONOTONIC, &at_);
        at_.tv_sec += timeout / 1000000;
        at_.tv_nsec += static_cast<long>(timeout % 1000000) * 1000;
        if (at_.tv_nsec >= kSecond) {
            at_.tv_nsec -= kSecond;
            ++at_.tv_sec;
        }
    }
    bool infinite() const { return infinite_; }
    /// Whether the timeout was 0.
    bool at_once() const { return at_once_; }
    const timespec& at() const { return at_; }
    /// @return the time left; 0 when the deadline has passed.
    timespec left() const {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const long long nanoseconds =
            (at_.tv_sec - now.tv_sec) * static_cast<long long>(kSecond) + at_.tv_nsec - now.tv_nsec;
        const long long left = std::max(nanoseconds, 0LL);
        return {static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    }

    bool has_passed() const {
        const timespec rest = left();
        return !infinite_ && rest.tv_sec == 0 && rest.tv_nsec == 0;
    }

  private:
    static constexpr long kSecond = 1000000000;
    bool infinite_;
    bool at_once_;
    timespec at_;
};

}  // namespace dapl
