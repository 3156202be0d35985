// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep_end.hpp"

#include <atomic>

#include "dapl/address.hpp"
#include "dapl/ep.hpp"
#include "dapl/support/log.hpp"

namespace dapl {
namespace {

constexpr int kTold = 3;

/// The peer's, with the qualifier where the connection manager has no port of it.
std::string peer_text(const EpConnection& connection) {
    sockaddr_storage peer = connection.remote_address;
    if (port_of(peer) == 0) set_port(peer, static_cast<std::uint16_t>(connection.remote_port_qual));
    return to_text(peer);
}

bool was_connected(const EpChange& end) {
    return end.from == DAT_EP_STATE_CONNECTED || end.from == DAT_EP_STATE_DISCONNECT_PENDING;
}

/// A connection manager tells of its own failures itself.
bool is_abrupt(const EpChange& end, DAT_COUNT flushed) {
    if (!was_connected(end)) return false;
    if (end.cause == EpCause::kWorkError) return true;
    if (end.cause == EpCause::kDisconnectAbrupt)
        return end.reason.source == EpReason::Source::kDevice;
    return end.cause == EpCause::kDisconnected && end.from == DAT_EP_STATE_CONNECTED && flushed > 0;
}

void tell(Ep& ep, const std::string& why, const EpReason& reason, DAT_COUNT flushed)
    REQUIRES(connection_lock) {
    static std::atomic<int> count{0};
    const bool all = support::trace_level() >= static_cast<int>(support::Level::kTrace);
    const int number = count.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number > kTold && !all) return;
    const auto now = std::chrono::steady_clock::now();
    support::report<support::kConnectionBroke>(ep.id(), peer_text(ep.connection), why, flushed,
                                               story(ep.state.history(), now),
                                               next_step_for(reason));
    if (number == kTold && !all) support::report<support::kFurtherBreaksHidden>(number);
}

}  // namespace

bool tell_end(Ep& ep) {
    const EpChange& end = ep.state.history().latest();
    const std::string why = why_text(end.cause, end.reason);
    Evd* const requests = ep.parts.request_evd;
    const DAT_COUNT flushed = requests ? requests->count_flushed(ep) : 0;
    if (is_abrupt(end, flushed)) {
        tell(ep, why, end.reason, flushed);
        return true;
    }
    if (support::trace_level() >= static_cast<int>(support::Level::kDebug))
        support::trace(support::Level::kDebug,
                       "EP {:x} with {} ended: {}, requests flushed: {}; before: {}", ep.id(),
                       peer_text(ep.connection), why, flushed,
                       story(ep.state.history(), std::chrono::steady_clock::now()));
    return false;
}

void tell_late(Ep& ep, const EpReason& reason) {
    tell(ep, why_text(EpCause::kWorkError, reason), reason, 0);
}

}  // namespace dapl
