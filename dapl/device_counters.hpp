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

#include "dapl/support/mutex.hpp"

namespace dapl {

class DeviceCounters {
  public:
    /// @param port 1-based.
    DeviceCounters(const ibv_context& device, int port) : device_(device), port_(port) {}

    /// @return whether it is one of them.
    static bool has(int which) {
        return which >= DCNT_IA_LNK_ERR_RCV && which < DCNT_IA_ALL_COUNTERS;
    }
    /// @return DAT_SUCCESS; DAT_MODEL_NOT_SUPPORTED where the device shows none of the group.
    /// Nothing happens where it has been started.
    DAT_RETURN start(DAT_IA_COUNTER_TYPE group) EXCLUDES(mutex_);
    /// Keeps what has been counted. Nothing happens where it has not been started.
    DAT_RETURN stop(DAT_IA_COUNTER_TYPE group) EXCLUDES(mutex_);
    /// @return 0 before the first start, and of what the device does not show.
    std::uint64_t value(int which) EXCLUDES(mutex_);

  private:
    static constexpr int kFirst = DCNT_IA_LNK_ERR_RCV;
    static constexpr int kFirstDiagnostic = DCNT_IA_DIAG_ERR_RQ_RAE;
    static constexpr int kCount = DCNT_IA_ALL_COUNTERS - kFirst;

    struct Range {
        int first, end;
    };
    static Range range_of(DAT_IA_COUNTER_TYPE group);
    /// @return whether the device shows it.
    bool read(int which, std::uint64_t& value) const;
    bool is_running(int which) const REQUIRES(mutex_) {
        return running_[which < kFirstDiagnostic ? 0 : 1];
    }

    const ibv_context& device_;
    const int port_;
    support::Mutex mutex_;
    bool running_[2] GUARDED_BY(mutex_) = {};
    std::array<std::uint64_t, kCount> started_at_ GUARDED_BY(mutex_){};
    std::array<std::uint64_t, kCount> counted_ GUARDED_BY(mutex_){};  ///< until the last stop
};

}  // namespace dapl
