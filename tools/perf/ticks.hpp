// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The cheapest clock available: reading it costs less than the shortest operation that it times.
#pragma once

#include <cstdint>

#include "support/base/processor.hpp"

namespace perf {

inline std::uint64_t now_ns() {
    return support::nanoseconds(CLOCK_MONOTONIC);
}

/// @return a count that grows at one rate on all cores.
inline std::uint64_t ticks() {
    return support::processor_ticks();
}

/// The length of a tick, from the two clocks at construction and now. The longer the time between,
/// the more exact.
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
