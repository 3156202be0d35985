// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ep_history.hpp"

#include <dat2/dat_ib_extensions.h>
#include <fmt/core.h>
#include <infiniband/verbs.h>

#include "dapl/cm/manager.hpp"
#include "dapl/ep/completion_status.hpp"
#include "dapl/ep/ep_state.hpp"
#include "support/trace/trace_text.hpp"

namespace dapl {
namespace {

std::string call_text(EpCause cause) {
    switch (cause) {
        case EpCause::kConnect:
            return "dat_ep_connect";
        case EpCause::kReserve:
        case EpCause::kReserveIncomplete:
            return "dat_rsp_create";
        case EpCause::kOffer:
        case EpCause::kRequest:
            return "a connection request";
        case EpCause::kRelease:
            return "the end of its request or service point";
        case EpCause::kCompleted:
        case EpCause::kMadeIncomplete:
            return "dat_ep_modify";
        case EpCause::kAccept:
            return "dat_cr_accept";
        case EpCause::kAcceptFailed:
        case EpCause::kPassiveAcceptFailed:
        case EpCause::kTentativeAcceptFailed:
            return "failure of dat_cr_accept";
        case EpCause::kConnectFailed:
            return "failure of dat_ep_connect";
        case EpCause::kDisconnectGraceful:
            return "dat_ep_disconnect (graceful)";
        case EpCause::kDisconnectAbrupt:
            return "dat_ep_disconnect (abrupt)";
        case EpCause::kReset:
            return "dat_ep_reset";
        default:
            return "the connection manager";
    }
}

const char* outcome_text(cm::Outcome outcome) {
    switch (outcome) {
        case cm::Outcome::kEstablished:
            return "both sides connected";
        case cm::Outcome::kPeerRejected:
            return "the peer's program rejected it";
        case cm::Outcome::kNonPeerRejected:
            return "the peer's connection manager rejected it";
        case cm::Outcome::kUnreachable:
            return "the peer cannot be reached";
        case cm::Outcome::kLocalFailure:
            return "the connection manager failed at this side";
        case cm::Outcome::kDisconnected:
            return "the peer disconnected or ended";
    }
    return "the connection manager";
}

const char* operation_name(std::uint32_t operation) {
    switch (operation) {
        case DAT_DTO_SEND:
        case DAT_IB_DTO_SEND_IMMED:
            return "a send";
        case DAT_DTO_RDMA_WRITE:
        case DAT_IB_DTO_RDMA_WRITE_IMMED:
            return "an RDMA write";
        case DAT_DTO_RDMA_READ:
            return "an RDMA read";
        case DAT_DTO_BIND_MW:
            return "a bind";
        case DAT_IB_DTO_FETCH_ADD:
        case DAT_IB_DTO_CMP_SWAP:
            return "an atomic operation";
        default:
            return "a receive";
    }
}

const char* event_text(ibv_event_type type) {
    switch (type) {
        case IBV_EVENT_QP_ACCESS_ERR:
            return "the peer asked for memory that it may not access";
        case IBV_EVENT_QP_REQ_ERR:
            return "the peer sent a request that this end cannot accept";
        default:
            return "the device reports a fatal error, or the peer is gone";
    }
}

}  // namespace

bool EpReason::is_refusal() const {
    return source == Source::kCompletion && code != IBV_WC_RETRY_EXC_ERR &&
           code != IBV_WC_RNR_RETRY_EXC_ERR && code != IBV_WC_WR_FLUSH_ERR;
}

std::string age_text(std::chrono::steady_clock::duration age) {
    const double seconds = std::chrono::duration<double>(age).count();
    return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.1f} s", seconds);
}

std::string why_text(EpCause cause, const EpReason& reason) {
    switch (reason.source) {
        case EpReason::Source::kCall:
            return call_text(cause);
        case EpReason::Source::kEnd:
            return "the program has freed it";
        case EpReason::Source::kManager:
            return outcome_text(static_cast<cm::Outcome>(reason.code));
        case EpReason::Source::kTimer:
            return "the timeout that the program set has expired";
        case EpReason::Source::kCompletion:
            return fmt::format("{} of {}",
                               completion_status(static_cast<ibv_wc_status>(reason.code)).text,
                               operation_name(reason.operation));
        case EpReason::Source::kDevice:
            return event_text(static_cast<ibv_event_type>(reason.code));
        case EpReason::Source::kWatermark:
            return "more receives of the SRQ are held than the hard high watermark allows";
    }
    return {};
}

const char* next_step_for(const EpReason& reason) {
    if (reason.source == EpReason::Source::kWatermark)
        return "dequeue the completions sooner, or raise the watermark (dat_ep_set_watermark)";
    if (reason.source == EpReason::Source::kManager)
        return "find out what ended the peer's program, or let it wait for this end's last request";
    if (reason.source == EpReason::Source::kDevice)
        return reason.code == IBV_EVENT_QP_FATAL
                   ? "check whether the peer's program has ended, and see the kernel's log "
                     "(`dmesg`)"
                   : "see which error the peer's program got, and correct its request";
    return completion_status(static_cast<ibv_wc_status>(reason.code)).next_step;
}

std::string story(const EpHistory& history, std::chrono::steady_clock::time_point now) {
    std::size_t oldest = 0;
    while (oldest + 1 < history.size() && history.latest(oldest).from != DAT_EP_STATE_UNCONNECTED)
        ++oldest;
    std::string text;
    for (std::size_t back = oldest; back > 0; --back) {
        const EpChange& change = history.latest(back);
        if (!text.empty()) text += ", ";
        text += fmt::format("{} -> {} {} ago", why_text(change.cause, change.reason),
                            support::ep_state_name(change.to), age_text(now - change.when));
    }
    return text.empty() ? "nothing" : text;
}

}  // namespace dapl
