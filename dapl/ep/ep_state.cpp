// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ep_state.hpp"

#include <new>
#include <string>

#include "support/trace/trace_points.hpp"

namespace dapl {
namespace {

using namespace ep_states;

constexpr EpMove kMoves[] = {
    {kUnconnected, EpCause::kConnect, kActive},
    {kUnconnected, EpCause::kAccept, kAccepting},
    {kUnconnected, EpCause::kReserve, kReserved},
    {kUnconnected, EpCause::kReserveIncomplete, kUnconfiguredReserved},
    {kUnconnected, EpCause::kOffer, kUnconfiguredTentative},

    {kReserved, EpCause::kRelease, kUnconnected},
    {kReserved, EpCause::kRequest, kPassive},
    {kReserved, EpCause::kMadeIncomplete, kUnconfiguredReserved},
    {kUnconfiguredReserved, EpCause::kRelease, kUnconnected},
    {kUnconfiguredReserved, EpCause::kRequest, kUnconfiguredPassive},
    {kUnconfiguredReserved, EpCause::kCompleted, kReserved},

    {kPassive, EpCause::kRelease, kUnconnected},
    {kPassive, EpCause::kAccept, kAccepting},
    {kUnconfiguredPassive, EpCause::kRelease, kUnconnected},
    {kUnconfiguredPassive, EpCause::kCompleted, kPassive},

    {kTentative, EpCause::kRelease, kUnconnected},
    {kTentative, EpCause::kAccept, kAccepting},
    {kTentative, EpCause::kMadeIncomplete, kUnconfiguredTentative},
    {kUnconfiguredTentative, EpCause::kRelease, kUnconnected},
    {kUnconfiguredTentative, EpCause::kCompleted, kTentative},

    {kActive, EpCause::kConnectFailed, kUnconnected},
    {kActive, EpCause::kEstablished, kConnected},
    {kActive, EpCause::kRefused, kDisconnected},
    {kActive, EpCause::kDisconnectGraceful, kDisconnected},
    {kActive, EpCause::kDisconnectAbrupt, kDisconnected},
    // The peer accepted the request and disconnected before kEstablished was reported here.
    {kActive, EpCause::kDisconnected, kDisconnected},

    {kAccepting, EpCause::kAcceptFailed, kUnconnected},
    {kAccepting, EpCause::kPassiveAcceptFailed, kPassive},
    {kAccepting, EpCause::kTentativeAcceptFailed, kTentative},
    {kAccepting, EpCause::kEstablished, kConnected},
    {kAccepting, EpCause::kRefused, kDisconnected},
    {kAccepting, EpCause::kDisconnectGraceful, kDisconnected},
    {kAccepting, EpCause::kDisconnectAbrupt, kDisconnected},
    {kAccepting, EpCause::kDisconnected, kDisconnected},

    {kConnected, EpCause::kDisconnectGraceful, kDisconnecting},
    {kConnected, EpCause::kDisconnectAbrupt, kDisconnected},
    {kConnected, EpCause::kDisconnected, kDisconnected},
    {kConnected, EpCause::kRefused, kDisconnected},
    {kConnected, EpCause::kWorkError, kDisconnected},

    {kDisconnecting, EpCause::kDisconnectAbrupt, kDisconnected},
    {kDisconnecting, EpCause::kDisconnected, kDisconnected},
    {kDisconnecting, EpCause::kRefused, kDisconnected},
    {kDisconnecting, EpCause::kWorkError, kDisconnected},

    {kDisconnected, EpCause::kReset, kUnconnected},
};

DAT_RETURN state_subtype(DAT_EP_STATE state) {
    switch (state) {
        case DAT_EP_STATE_UNCONNECTED:
            return DAT_INVALID_STATE_EP_UNCONNECTED;
        case DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:
            return DAT_INVALID_STATE_EP_UNCONFIGURED;
        case DAT_EP_STATE_RESERVED:
            return DAT_INVALID_STATE_EP_RESERVED;
        case DAT_EP_STATE_UNCONFIGURED_RESERVED:
            return DAT_INVALID_STATE_EP_UNCONFRESERVED;
        case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
            return DAT_INVALID_STATE_EP_PASSCONNPENDING;
        case DAT_EP_STATE_UNCONFIGURED_PASSIVE:
            return DAT_INVALID_STATE_EP_UNCONFPASSIVE;
        case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
            return DAT_INVALID_STATE_EP_ACTCONNPENDING;
        case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
            return DAT_INVALID_STATE_EP_TENTCONNPENDING;
        case DAT_EP_STATE_UNCONFIGURED_TENTATIVE:
            return DAT_INVALID_STATE_EP_UNCONFTENTATIVE;
        case DAT_EP_STATE_CONNECTED:
        case DAT_EP_STATE_CONNECTED_SINGLE_PATH:
        case DAT_EP_STATE_CONNECTED_MULTI_PATH:
            return DAT_INVALID_STATE_EP_CONNECTED;
        case DAT_EP_STATE_DISCONNECT_PENDING:
            return DAT_INVALID_STATE_EP_DISCPENDING;
        case DAT_EP_STATE_DISCONNECTED:
            return DAT_INVALID_STATE_EP_DISCONNECTED;
        case DAT_EP_STATE_COMPLETION_PENDING:
            return DAT_INVALID_STATE_EP_COMPLPENDING;
    }
    return DAT_NO_SUBTYPE;
}

void trace_move(std::uint64_t endpoint, DAT_EP_STATE from, DAT_EP_STATE to, EpCause cause,
                const EpReason& reason) {
    std::string why;
    try {
        why = why_text(cause, reason);
    } catch (const std::bad_alloc&) {
        // The trace has the cause's number as well, and a move does not fail for lack of its text.
    }
    support::trace_state(endpoint, static_cast<std::uint32_t>(cause), why.c_str(), from, to);
}

}  // namespace

std::span<const EpMove> ep_moves() {
    return kMoves;
}

std::optional<DAT_EP_STATE> next_state(DAT_EP_STATE from, EpCause cause) {
    for (const EpMove& move : kMoves)
        if (move.from == from && move.cause == cause) return move.to;
    return std::nullopt;
}

DAT_RETURN state_error(DAT_EP_STATE state) {
    return DAT_CLASS_ERROR | DAT_INVALID_STATE | state_subtype(state);
}

bool EpState::move(EpCause cause, const EpReason& reason) {
    const DAT_EP_STATE now = get();
    const auto next = next_state(now, cause);
    if (!next) return false;
    trace_move(endpoint, now, *next, cause, reason);
    history_.add({std::chrono::steady_clock::now(), now, *next, cause, reason});
    value_.store(value_of(*next), std::memory_order_release);
    return true;
}

}  // namespace dapl
