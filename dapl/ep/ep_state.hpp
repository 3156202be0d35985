// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The endpoint state machine: one table of moves and one of legal calls.
///
/// Whoever makes a move posts its event: a cause that finds no row for the present state (a late
/// answer, a second disconnect) is swallowed, so each connection has one beginning and one end.
///
/// An EP is complete when it could be accepted: it has a PZ and a connect EVD. The UNCONFIGURED
/// states say that one who waits for, or has, a request is not. UNCONFIGURED_UNCONNECTED is never
/// entered: consumers know every EP that they have made as UNCONNECTED. Nor are the two PATH
/// states: a connection has one path.
#pragma once

#include <dat2/udat.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "dapl/ep/ep_history.hpp"

namespace dapl {

/// The states that an EP can be in, in short.
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
    kReserve,            ///< a complete EP is given to an RSP
    kReserveIncomplete,  ///< one that is not
    kOffer,              ///< just made for a request on a provider-flag PSP
    kRequest,            ///< comes in on the RSP
    kRelease,            ///< the RSP is gone, or the request is
    kCompleted,          ///< dat_ep_modify gave what was missing
    kMadeIncomplete,     ///< or took it
    kAccept,
    kAcceptFailed,         ///< refused before anything was sent, on an EP of the consumer's choice
    kPassiveAcceptFailed,  ///< the same on the EP of an RSP
    kTentativeAcceptFailed,  ///< the same on the EP of a provider-flag PSP
    kConnectFailed,          ///< the same at the active side
    kEstablished,
    kRefused,  ///< rejected, unreachable, local failure or timed out
    kDisconnectGraceful,
    kDisconnectAbrupt,
    kDisconnected,  ///< by the peer, or ours is done
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

/// All moves there are.
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

/// @return whether the call may go on in this state. A constant mask where the call is known.
constexpr bool is_legal(EpCall call, DAT_EP_STATE state) {
    return (detail::kLegalStates[static_cast<int>(call)] >> state & 1) != 0;
}
/// The code of a call that is not: DAT_INVALID_STATE with the subtype of the state.
DAT_RETURN state_error(DAT_EP_STATE state);

/// The state of one endpoint. Moved with connection_lock held; read by posts at any time.
class EpState {
  public:
    DAT_EP_STATE get() const {
        return static_cast<DAT_EP_STATE>(value_.load(std::memory_order_acquire) & kStateMask);
    }
    /// Whether EpCall::kPostRequest is legal.
    bool takes_requests() const {
        return (value_.load(std::memory_order_acquire) & kTakesRequests) != 0;
    }
    /// @return false, and nothing changed, where the table has no row.
    bool move(EpCause cause, const EpReason& reason = {});
    /// With connection_lock held.
    const EpHistory& history() const { return history_; }

    std::uint64_t endpoint = 0;  ///< id of the EP, for the trace

  private:
    /// The state and, beside it, what every post asks of it.
    static constexpr std::uint32_t kStateMask = 0xff;
    static constexpr std::uint32_t kTakesRequests = 0x100;
    static constexpr std::uint32_t value_of(DAT_EP_STATE state) {
        return state | (is_legal(EpCall::kPostRequest, state) ? kTakesRequests : 0);
    }
    std::atomic<std::uint32_t> value_{value_of(DAT_EP_STATE_UNCONNECTED)};
    EpHistory history_;
};

}  // namespace dapl
