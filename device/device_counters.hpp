// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The counters that the device itself keeps (DCNT_IA_LNK_*, DCNT_IA_DIAG_*), read below its
/// directory in sysfs. They count for the port, whoever uses it: an adapter instance sees by how
/// much they have grown between start() and stop().
#pragma once

#include <dat2/dat_ib_extensions.h>
#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <optional>

#include "support/thread/mutex.hpp"

namespace dapl {

class DeviceCounters {
  public:
    /// @param port 1-based.
    DeviceCounters(const ibv_context& device, int port) : device_(device), port_(port) {}

    /// @return whether the counter is one of the device's.
    static bool has(int which) { return which >= kFirst && which < DCNT_IA_ALL_COUNTERS; }
    /// Starts the counters of a group; does nothing if they are running.
    /// @return DAT_SUCCESS; DAT_MODEL_NOT_SUPPORTED if the device has no counter of the group.
    DAT_RETURN start(DAT_IA_COUNTER_TYPE group) EXCLUDES(mutex_);
    /// Stops the counters of a group and keeps their values; does nothing if they are not running.
    DAT_RETURN stop(DAT_IA_COUNTER_TYPE group) EXCLUDES(mutex_);
    /// @return the value, which never decreases; 0 before the first start, and for a counter that
    /// the device does not have.
    std::uint64_t value(int which) EXCLUDES(mutex_);

  private:
    static constexpr int kFirst = DCNT_IA_LNK_ERR_RCV;
    static constexpr int kFirstDiagnostic = DCNT_IA_DIAG_ERR_RQ_RAE;
    static constexpr int kCount = DCNT_IA_ALL_COUNTERS - kFirst;

    struct Sample {
        std::optional<std::uint64_t> last;  ///< last value of the device; empty: not running
        std::uint64_t grown = 0;            ///< growth while running, since the first start
    };
    struct Range {
        int first, end;
    };
    static Range range_of(DAT_IA_COUNTER_TYPE group);
    std::optional<std::uint64_t> read(int which) const;
    Sample& sample(int which) REQUIRES(mutex_) { return samples_[which - kFirst]; }
    bool is_running(const Range& range) REQUIRES(mutex_);
    void update(int which) REQUIRES(mutex_);

    const ibv_context& device_;
    const int port_;
    support::Mutex mutex_;
    std::array<Sample, kCount> samples_ GUARDED_BY(mutex_);
};

}  // namespace dapl
