// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// SOFTVERBS_TIME_SCALE: the one place in which times that programs set, or that InfiniBand
/// demands, become times of this machine. These are the timers of queue pairs, the time-outs of the
/// connection manager and the times of fault rules. How long the device waits for its own processes
/// is not among them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace softverbs {

/// These timers run so many times as fast. Read by set_time_scale() before there are any.
inline constinit std::atomic<std::int64_t> time_scale{1};

/// Reads the setting. Called when the device is opened, before any other thread exists.
void set_time_scale();

/// @return how long a time takes. A time that is not 0 does not become 0.
inline std::chrono::nanoseconds scaled(std::chrono::nanoseconds time) {
    const auto scale = time_scale.load(std::memory_order_relaxed);
    return (time + std::chrono::nanoseconds(scale - 1)) / scale;
}

}  // namespace softverbs
