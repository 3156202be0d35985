// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The cheapest clock there is: reading it costs less than the shortest operation that it times.
#pragma once

#include <time.h>

#include <cstdint>
#if defined __x86_64__
#include <x86intrin.h>
#endif

namespace perf {

inline std::uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// @return a count that grows at one rate on all cores.
inline std::uint64_t ticks() {
#if defined __x86_64__
    return __rdtsc();
#else
    return now_ns();
#endif
}

/// How long a tick is, from the two clocks at the start and now. The longer ago the start, the
/// finer.
class TickLength {
  public:
    double nanoseconds() const {
        const std::uint64_t passed = ticks() - first_tick_;
        return passed == 0
                   ? 1.0
                   : static_cast<double>(now_ns() - first_ns_) / static_cast<double>(passed);
    }

  private:
    std::uint64_t first_ns_ = now_ns();
    std::uint64_t first_tick_ = ticks();
};

}  // namespace perf
