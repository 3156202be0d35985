// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ep_end.hpp"

#include <atomic>
#include <new>
#include <optional>

#include "dapl/adapter/ia.hpp"
#include "dapl/ep/device_failure.hpp"
#include "dapl/ep/ep.hpp"
#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl {
namespace {

constexpr int kTold = 3;

/// Returns the peer's address, with the connection qualifier as its port if it has none.
std::string peer_text(const EpConnection& connection) {
    sockaddr_storage peer = connection.remote_address;
    if (port_of(peer) == 0) set_port(peer, static_cast<std::uint16_t>(connection.remote_port_qual));
    return to_text(peer);
}

bool was_connected(const EpChange& end) {
    return end.from == DAT_EP_STATE_CONNECTED || end.from == DAT_EP_STATE_DISCONNECT_PENDING;
}

/// Returns whether the end of a connection is to be reported. Failures of a connection manager are
/// not: it reports them itself.
bool is_abrupt(const EpChange& end, DAT_COUNT flushed) {
    if (!was_connected(end)) return false;
    if (end.cause == EpCause::kWorkError) return true;
    if (end.cause == EpCause::kDisconnectAbrupt)
        return end.reason.source == EpReason::Source::kDevice;
    return end.cause == EpCause::kDisconnected && end.from == DAT_EP_STATE_CONNECTED && flushed > 0;
}

/// Text of a message: from the EP's history, or from the device if that knows more.
struct Told {
    std::string why;
    const char* next_step;
};

Told told_of(const std::string& why, const EpReason& reason,
             const std::optional<DeviceFailure>& failure) {
    if (!failure) return {why, next_step_for(reason)};
    return {why + ", as " + failure->text, failure->next_step};
}

void tell(Ep& ep, const Told& told, DAT_COUNT flushed) REQUIRES(connection_lock) {
    static std::atomic<int> count{0};
    const bool all = support::trace_level() >= static_cast<int>(support::Level::kTrace);
    const int number = count.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number > kTold && !all) return;
    const auto now = std::chrono::steady_clock::now();
    support::report<support::kConnectionBroke>(
        ep.id(), reinterpret_cast<std::uintptr_t>(ep.handle()), peer_text(ep.connection), told.why,
        flushed, story(ep.state.history(), now), told.next_step);
    if (number == kTold && !all) support::report<support::kFurtherBreaksHidden>(number);
}

/// Returns the reason, with the device's if it has one: when a request of the peer was at fault,
/// the peer's disconnect may arrive before the device's event.
std::string why_text_of(const EpChange& end, const std::optional<DeviceFailure>& failure) {
    if (!failure) return why_text(end.cause, end.reason);
    if (failure->of_receive && end.cause != EpCause::kWorkError)
        return why_text(EpCause::kWorkError,
                        {EpReason::Source::kCompletion, IBV_WC_LOC_PROT_ERR, DAT_DTO_RECEIVE});
    if (!failure->asked_by_peer) return why_text(end.cause, end.reason);
    return why_text(end.cause, {EpReason::Source::kDevice, IBV_EVENT_QP_ACCESS_ERR});
}

/// Returns whether the peer's disconnect is due to a fault: a signal killed the peer, or its
/// request was refused here, or the receive for its message was at fault.
bool is_fault_at_disconnect(const EpChange& end, const std::optional<DeviceFailure>& failure) {
    return end.cause == EpCause::kDisconnected && failure &&
           (failure->peer_was_killed || failure->asked_by_peer || failure->of_receive);
}

bool tell_end_of(Ep& ep) REQUIRES(connection_lock) {
    const EpChange& end = ep.state.history().latest();
    Evd* const requests = ep.parts.request_evd;
    const DAT_COUNT flushed = requests ? requests->count_flushed(ep.requests) : 0;
    const auto failure = was_connected(end)
                             ? device_failure(ep.ia.provider.library.device, ep.queue_pair())
                             : std::nullopt;
    const std::string why = why_text_of(end, failure);
    if (is_abrupt(end, flushed) || is_fault_at_disconnect(end, failure)) {
        tell(ep, told_of(why, end.reason, failure), flushed);
        return true;
    }
    if (support::trace_level() >= static_cast<int>(support::Level::kDebug))
        support::trace(support::Level::kDebug,
                       "{} with {} ended: {}, requests flushed: {}; before: {}", ep.name(),
                       peer_text(ep.connection), why, flushed,
                       story(ep.state.history(), std::chrono::steady_clock::now()));
    return false;
}

}  // namespace

/// A lack of memory for the message must not hold up the event of the connection's end.
bool tell_end(Ep& ep) {
    try {
        return tell_end_of(ep);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void tell_late(Ep& ep, const EpReason& reason) {
    const std::string why = why_text(EpCause::kWorkError, reason);
    tell(ep, told_of(why, reason, device_failure(ep.ia.provider.library.device, ep.queue_pair())),
         0);
}

}  // namespace dapl
