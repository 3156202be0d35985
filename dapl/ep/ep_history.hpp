// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The last state changes of an endpoint, and their one-line text for messages.
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

/// Details of a state change that its cause does not carry.
struct EpReason {
    enum class Source : std::uint8_t {
        kCall,        ///< a call of the consumer, which the cause names
        kEnd,         ///< dat_ep_free or dat_ia_close
        kManager,     ///< code: cm::Outcome
        kTimer,       ///< the consumer's connection timeout has expired
        kCompletion,  ///< code: ibv_wc_status, operation: DAT_DTOS or DAT_IB_DTOS
        kDevice,      ///< code: ibv_event_type
        kWatermark,   ///< the hard high watermark of receives
    };
    Source source = Source::kCall;
    int code = 0;
    std::uint32_t operation = 0;

    /// Returns whether a request itself was at fault: it failed, but neither by exhausted retries
    /// nor by a flush.
    bool is_refusal() const;
};

struct EpChange {
    std::chrono::steady_clock::time_point when;
    DAT_EP_STATE from;
    DAT_EP_STATE to;
    EpCause cause;
    EpReason reason;
};

/// The last kKept changes. Guarded by connection_lock, like the state.
class EpHistory {
  public:
    static constexpr std::size_t kKept = 16;

    void add(const EpChange& change) { changes_[count_++ % kKept] = change; }
    std::size_t size() const { return std::min(count_, kKept); }
    /// @param back 0 for the newest change; less than size().
    const EpChange& latest(std::size_t back = 0) const {
        return changes_[(count_ - 1 - back) % kKept];
    }

  private:
    std::array<EpChange, kKept> changes_{};
    std::size_t count_ = 0;
};

/// Returns why the state changed: "dat_ep_connect", "remote access error of an RDMA write".
std::string why_text(EpCause cause, const EpReason& reason);
/// Formats an age: "4.3 s", "0.2 ms".
std::string age_text(std::chrono::steady_clock::duration age);
/// Returns advice to the user.
const char* next_step_for(const EpReason& reason);
/// Returns the changes since the EP was last UNCONNECTED, oldest first, without the newest:
/// "dat_ep_connect -> ACTIVE_CONNECTION_PENDING 4.3 s ago, ... -> CONNECTED 4.2 s ago".
std::string story(const EpHistory& history, std::chrono::steady_clock::time_point now);

}  // namespace dapl
