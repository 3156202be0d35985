// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The endpoint state machine: one table of moves and one of legal calls.
///
/// Whoever makes a move posts its event. A cause without a row for the current state (a late
/// answer, a second disconnect) is ignored, so each connection has one beginning and one end.
///
/// An EP is complete when a request could be accepted with it: it has a PZ and a connect EVD. In
/// the UNCONFIGURED states an EP that waits for a request, or has one, is not complete.
/// UNCONFIGURED_UNCONNECTED is never entered: consumers expect every EP that they create to be
/// UNCONNECTED. Nor are the two PATH states: a connection has one path.
#pragma once

#include <dat2/udat.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "dapl/ep/ep_history.hpp"

namespace dapl {

/// Short names of the states that an EP can be in.
namespace ep_states {
inline constexpr auto kUnconnected = DAT_EP_STATE_UNCONNECTED;
inline constexpr auto kReserved = DAT_EP_STATE_RESERVED;
inline constexpr auto kUnconfiguredReserved = DAT_EP_STATE_UNCONFIGURED_RESERVED;
inline constexpr auto kPassive = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;
inline constexpr auto kUnconfiguredPassive = DAT_EP_STATE_UNCONFIGURED_PASSIVE;
inline constexpr auto kTentative = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
inline constexpr auto kUnconfiguredTentative = DAT_EP_STATE_UNCONFIGURED_TENTATIVE;
inline constexpr auto kActive = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
inline constexpr auto kConnected = DAT_EP_STATE_CONNECTED;
inline constexpr auto kDisconnecting = DAT_EP_STATE_DISCONNECT_PENDING;
inline constexpr auto kDisconnected = DAT_EP_STATE_DISCONNECTED;
inline constexpr auto kAccepting = DAT_EP_STATE_COMPLETION_PENDING;
}  // namespace ep_states

enum class EpCause {
    kConnect,
    kReserve,            ///< a complete EP is reserved by an RSP
    kReserveIncomplete,  ///< an incomplete EP is reserved by an RSP
    kOffer,              ///< the EP was created for a request on a provider-flag PSP
    kRequest,            ///< a request arrives on the RSP
    kRelease,            ///< the RSP or the request is gone
    kCompleted,          ///< dat_ep_modify supplied what was missing
    kMadeIncomplete,     ///< dat_ep_modify removed something required
    kAccept,
    kAcceptFailed,           ///< failed before anything was sent, on an EP that the consumer chose
    kPassiveAcceptFailed,    ///< the same on the EP of an RSP
    kTentativeAcceptFailed,  ///< the same on the EP of a provider-flag PSP
    kConnectFailed,          ///< dat_ep_connect failed before anything was sent
    kEstablished,
    kRefused,  ///< rejected, unreachable, local failure or timed out
    kDisconnectGraceful,
    kDisconnectAbrupt,
    kDisconnected,  ///< by the peer, or our disconnect is complete
    kWorkError,     ///< a completion or an asynchronous event broke the connection
    kReset,
};

enum class EpCall {
    kConnect,
    kDisconnectGraceful,
    kDisconnectAbrupt,
    kFree,
    kReset,
    kModify,
    kModifyPz,
    kPostReceive,
    kPostRequest,
    kBind,
    kRspCreate,
    kAccept,
    kAcceptOwn,  ///< with the EP that came with the request
};

struct EpMove {
    DAT_EP_STATE from;
    EpCause cause;
    DAT_EP_STATE to;
};

/// Returns all moves.
std::span<const EpMove> ep_moves();
std::optional<DAT_EP_STATE> next_state(DAT_EP_STATE from, EpCause cause);

namespace detail {
constexpr std::uint32_t states(std::initializer_list<DAT_EP_STATE> list) {
    std::uint32_t mask = 0;
    for (const DAT_EP_STATE state : list) mask |= 1U << state;
    return mask;
}
inline constexpr std::uint32_t kAnyState = ~0U;

/// In the order of EpCall.
inline constexpr std::uint32_t kLegalStates[] = {
    /* kConnect */ states({DAT_EP_STATE_UNCONNECTED}),
    /* kDisconnectGraceful */
    states({DAT_EP_STATE_CONNECTED, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
            DAT_EP_STATE_COMPLETION_PENDING, DAT_EP_STATE_DISCONNECTED}),
    /* kDisconnectAbrupt */
    states({DAT_EP_STATE_CONNECTED, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
            DAT_EP_STATE_COMPLETION_PENDING, DAT_EP_STATE_DISCONNECT_PENDING,
            DAT_EP_STATE_DISCONNECTED}),
    /* kFree */
    kAnyState &
        ~states({DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONFIGURED_RESERVED,
                 DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_PASSIVE,
                 DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_TENTATIVE}),
    /* kReset */ states({DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_DISCONNECTED}),
    /* kModify */
    states({DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONFIGURED_RESERVED,
            DAT_EP_STATE_UNCONFIGURED_PASSIVE, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
            DAT_EP_STATE_UNCONFIGURED_TENTATIVE}),
    /* kModifyPz */
    states({DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_UNCONFIGURED_RESERVED,
            DAT_EP_STATE_UNCONFIGURED_PASSIVE, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
            DAT_EP_STATE_UNCONFIGURED_TENTATIVE}),
    /* kPostReceive */ kAnyState,
    /* kPostRequest */ states({DAT_EP_STATE_CONNECTED, DAT_EP_STATE_DISCONNECTED}),
    /* kBind */ states({DAT_EP_STATE_CONNECTED}),
    /* kRspCreate */ states({DAT_EP_STATE_UNCONNECTED}),
    /* kAccept */ states({DAT_EP_STATE_UNCONNECTED}),
    /* kAcceptOwn */
    states({DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_PASSIVE,
            DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_TENTATIVE}),
};
}  // namespace detail

/// Returns whether the call is legal in this state. Compiles to one test of a constant mask if the
/// call is a constant.
constexpr bool is_legal(EpCall call, DAT_EP_STATE state) {
    return (detail::kLegalStates[static_cast<int>(call)] >> state & 1) != 0;
}
/// Returns the code of a call that is not legal: DAT_INVALID_STATE with the state's subtype.
DAT_RETURN state_error(DAT_EP_STATE state);

/// The state of one endpoint. It changes with connection_lock held; posts read it without a lock.
class EpState {
  public:
    DAT_EP_STATE get() const {
        return static_cast<DAT_EP_STATE>(value_.load(std::memory_order_acquire) & kStateMask);
    }
    /// Returns whether EpCall::kPostRequest is legal.
    bool takes_requests() const {
        return (value_.load(std::memory_order_acquire) & kTakesRequests) != 0;
    }
    /// Makes the move of a cause. @return false, with nothing changed, if the table has no row.
    bool move(EpCause cause, const EpReason& reason = {});
    /// For callers that hold connection_lock.
    const EpHistory& history() const { return history_; }

    std::uint64_t endpoint = 0;  ///< id of the EP, for the trace

  private:
    /// The state, with a flag that every post tests.
    static constexpr std::uint32_t kStateMask = 0xff;
    static constexpr std::uint32_t kTakesRequests = 0x100;
    static constexpr std::uint32_t value_of(DAT_EP_STATE state) {
        return state | (is_legal(EpCall::kPostRequest, state) ? kTakesRequests : 0);
    }
    std::atomic<std::uint32_t> value_{value_of(DAT_EP_STATE_UNCONNECTED)};
    EpHistory history_;
};

}  // namespace dapl
