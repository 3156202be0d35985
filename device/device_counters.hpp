// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The counters that a device keeps of its own (DCNT_IA_LNK_*, DCNT_IA_DIAG_*), as the kernel shows
/// them below the device's directory in sysfs. They belong to the port, whoever uses it: an adapter
/// instance sees what they have grown by between start() and stop().
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

    /// @return whether it is one of them.
    static bool has(int which) { return which >= kFirst && which < DCNT_IA_ALL_COUNTERS; }
    /// @return DAT_SUCCESS; DAT_MODEL_NOT_SUPPORTED where the device shows none of the group.
    /// Nothing happens where it has been started.
    DAT_RETURN start(DAT_IA_COUNTER_TYPE group) EXCLUDES(mutex_);
    /// Keeps what has been counted. Nothing happens where it has not been started.
    DAT_RETURN stop(DAT_IA_COUNTER_TYPE group) EXCLUDES(mutex_);
    /// Never falls. @return 0 before the first start, and of what the device does not show.
    std::uint64_t value(int which) EXCLUDES(mutex_);

  private:
    static constexpr int kFirst = DCNT_IA_LNK_ERR_RCV;
    static constexpr int kFirstDiagnostic = DCNT_IA_DIAG_ERR_RQ_RAE;
    static constexpr int kCount = DCNT_IA_ALL_COUNTERS - kFirst;

    struct Sample {
        std::optional<std::uint64_t> last;  ///< as the device showed it; empty: not running
        std::uint64_t grown = 0;            ///< since the first start, less what came between
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
