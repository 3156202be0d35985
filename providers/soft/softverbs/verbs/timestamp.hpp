// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The device's clock, and the timestamps that completions get from it: CLOCK_MONOTONIC in
/// nanoseconds, of which a timestamp has the lower 48 bits. All processes of the machine share it.
#pragma once

#include <cstdint>
#include <ctime>

namespace softverbs {

inline constexpr unsigned kTimestampBits = 48;
inline constexpr std::uint64_t kTimestampMask = (std::uint64_t{1} << kTimestampBits) - 1;

inline std::uint64_t nanoseconds_of(clockid_t clock) {
    constexpr std::uint64_t kPerSecond = 1000000000;
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kPerSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t timestamp_now() {
    return nanoseconds_of(CLOCK_MONOTONIC) & kTimestampMask;
}

/// @return the time of day at which a timestamp was taken, in nanoseconds. It is not older than 78
/// hours, after which the 48 bits begin anew.
inline std::uint64_t time_of_day(std::uint64_t timestamp) {
    const std::uint64_t age = (timestamp_now() - timestamp) & kTimestampMask;
    return nanoseconds_of(CLOCK_REALTIME) - age;
}

}  // namespace softverbs
