// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The last state changes of an endpoint, and the story that they tell on one line.
#pragma once

#include <dat2/udat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dapl {

enum class EpCause;

/// What the cause of a change does not say.
struct EpReason {
    enum class Source : std::uint8_t {
        kCall,        ///< a call of the consumer, which the cause names
        kEnd,         ///< dat_ep_free or dat_ia_close
        kManager,     ///< code: cm::Outcome
        kTimer,       ///< the consumer's time for the connection is over
        kCompletion,  ///< code: ibv_wc_status, operation: DAT_DTOS or DAT_IB_DTOS
        kDevice,      ///< code: ibv_event_type
        kWatermark,   ///< the hard high watermark of receives
    };
    Source source = Source::kCall;
    int code = 0;
    std::uint32_t operation = 0;

    /// A request failed by itself, not because its peer is gone or its queue pair was flushed.
    bool is_refusal() const;
};

struct EpChange {
    std::chrono::steady_clock::time_point when;
    DAT_EP_STATE from;
    DAT_EP_STATE to;
    EpCause cause;
    EpReason reason;
};

/// Guarded by what guards the state: connection_lock.
class EpHistory {
  public:
    static constexpr std::size_t kKept = 16;

    void add(const EpChange& change) { changes_[count_++ % kKept] = change; }
    std::size_t size() const { return std::min(count_, kKept); }
    /// @param back 0 for the last one, below size().
    const EpChange& latest(std::size_t back = 0) const {
        return changes_[(count_ - 1 - back) % kKept];
    }

  private:
    std::array<EpChange, kKept> changes_{};
    std::size_t count_ = 0;
};

/// Why the state changed: "dat_ep_connect", "remote access error of an RDMA write".
std::string why_text(EpCause cause, const EpReason& reason);
/// "4.3 s", "0.2 ms".
std::string age_text(std::chrono::steady_clock::duration age);
/// What the user does about it.
const char* next_step_for(const EpReason& reason);
/// The changes from the last time that the EP was unconnected, without the last one, oldest first:
/// "dat_ep_connect -> ACTIVE_CONNECTION_PENDING 4.3 s ago, ... -> CONNECTED 4.2 s ago".
std::string story(const EpHistory& history, std::chrono::steady_clock::time_point now);

}  // namespace dapl
