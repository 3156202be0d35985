// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Converts the ticks of records to the time of day.
#pragma once

#include "tools/trace/snapshot.hpp"

namespace tracing {

/// The clocks of one process.
class Clocks {
  public:
    explicit Clocks(const Snapshot& snapshot);
    /// @return nanoseconds of CLOCK_MONOTONIC.
    std::int64_t monotonic_ns(support::TraceClock clock, std::uint64_t ticks) const;
    /// @return the time of day minus CLOCK_MONOTONIC.
    std::int64_t offset_ns() const { return offset_ns_; }

  private:
    void note(const Moment& moment);
    void settle_rate();
    Moment first_, last_;
    double ns_per_tick_ = 1;
    std::int64_t offset_ns_ = 0;
};

}  // namespace tracing
