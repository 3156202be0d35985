// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The device's clock, and the timestamps that completions get from it: CLOCK_MONOTONIC in
/// nanoseconds, of which a timestamp has the lower 48 bits. All processes of the machine share it.
#pragma once

#include <cstdint>

#include "support/base/processor.hpp"

namespace softverbs {

inline constexpr unsigned kTimestampBits = 48;
inline constexpr std::uint64_t kTimestampMask = (std::uint64_t{1} << kTimestampBits) - 1;

inline std::uint64_t timestamp_now() {
    return support::nanoseconds(CLOCK_MONOTONIC) & kTimestampMask;
}

/// @return the time of day at which a timestamp was taken, in nanoseconds. It is not older than 78
/// hours, after which the 48 bits begin anew.
inline std::uint64_t time_of_day(std::uint64_t timestamp) {
    const std::uint64_t age = (timestamp_now() - timestamp) & kTimestampMask;
    return support::nanoseconds(CLOCK_REALTIME) - age;
}

}  // namespace softverbs
