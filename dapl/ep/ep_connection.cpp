// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ep_connection.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/cm/failed_try.hpp"
#include "dapl/cm/lent_socket.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ep_end.hpp"
#include "dapl/evd/events.hpp"
#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl {
namespace {

/// Interval at which a graceful disconnect polls for the marker: the first, and the longest.
constexpr std::chrono::steady_clock::duration kFirstLook = std::chrono::milliseconds(1);
constexpr std::chrono::steady_clock::duration kLongestLook = std::chrono::milliseconds(32);

std::uint8_t limited(DAT_COUNT reads) {
    return static_cast<std::uint8_t>(std::clamp<DAT_COUNT>(reads, 0, 255));
}

bool is_pending(DAT_EP_STATE state) {
    return state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
           state == DAT_EP_STATE_COMPLETION_PENDING;
}

/// @return the cause that restores the state before a failed accept.
/// @param before the state before the accept.
EpCause undoing_accept(DAT_EP_STATE before) {
    if (before == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) return EpCause::kPassiveAcceptFailed;
    if (before == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) return EpCause::kTentativeAcceptFailed;
    return EpCause::kAcceptFailed;
}

/// Counts a connection with the CM messages that the handshake took at this side.
void count_established(IaCounters& counters, bool active) {
    if (active) counters.count(DCNT_IA_CM_REP_RX);
    counters.count(active ? DCNT_IA_CM_RTU_TX : DCNT_IA_CM_RTU_RX);
    counters.count(active ? DCNT_IA_CM_ACTIVE_EST : DCNT_IA_CM_PASSIVE_EST);
}

/// Counts the end of a connection. The manager answers a peer's disconnect request itself.
/// @param answered this side had asked for the disconnect, and the peer has answered.
void count_disconnected(IaCounters& counters, bool answered) {
    if (answered) return counters.count(DCNT_IA_CM_DREP_RX);
    counters.count(DCNT_IA_CM_DREQ_RX);
    counters.count(DCNT_IA_CM_DREP_TX);
}

/// Runs a call of the manager and turns std::bad_alloc into a failure: a manager that runs out of
/// memory has undone what it began.
template <class Call>
std::invoke_result_t<Call> or_no_memory(const Call& call) REQUIRES(connection_lock) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return support::failure(out_of_memory(), "no memory");
    }
}

EpReason by_manager(cm::Outcome outcome) {
    return {EpReason::Source::kManager, static_cast<int>(outcome)};
}

}  // namespace

void count_failure(IaCounters& counters, cm::Outcome outcome) {
    switch (outcome) {
        case cm::Outcome::kPeerRejected:
            return counters.count(DCNT_IA_CM_USER_REJ_RX);
        case cm::Outcome::kNonPeerRejected:
            return counters.count(DCNT_IA_CM_ERR_REFUSED);
        case cm::Outcome::kUnreachable:
            return counters.count(DCNT_IA_CM_ERR_TIMEOUT);
        default:
            return counters.count(DCNT_IA_CM_ERR);
    }
}

cm::Parameters EpConnection::parameters(cm::PrivateData data) {
    return {ep_.queue_pair(), limited(ep_.attributes.max_rdma_read_in),
            limited(ep_.attributes.max_rdma_read_out), data};
}

DAT_RETURN EpConnection::connect(const sockaddr* peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                                 cm::PrivateData data) {
    const sockaddr_storage address = peer_address(peer, ep_.ia.adapter().address);
    return begin(address, conn_qual, timeout, [&]() NO_THREAD_SAFETY_ANALYSIS {
        return ep_.ia.manager->connect(reinterpret_cast<const sockaddr*>(&address), conn_qual,
                                       parameters(data), *this);
    });
}

DAT_RETURN EpConnection::connect_over(support::UniqueFd socket, DAT_TIMEOUT timeout,
                                      cm::PrivateData data) {
    const sockaddr_storage peer = cm::other_end(socket);
    return begin(peer, port_of(peer), timeout, [&]() NO_THREAD_SAFETY_ANALYSIS {
        return ep_.ia.manager->sockets().and_then(
            [&](cm::SocketService* service) NO_THREAD_SAFETY_ANALYSIS {
                return service->connect(std::move(socket), parameters(data), *this);
            });
    });
}

template <class Start>
DAT_RETURN EpConnection::begin(const sockaddr_storage& peer, DAT_CONN_QUAL conn_qual,
                               DAT_TIMEOUT timeout, const Start& start) {
    ep_.ia.manager->loop.reserve(*this);
    forget();
    told_ = false;
    active_ = true;
    timeout_ = timeout;
    ep_.state.move(EpCause::kConnect);
    begun_ = Clock::now();
    remote_address = peer;
    remote_port_qual = conn_qual;
    auto started = or_no_memory(start);
    if (!started) {
        support::trace(support::Level::kDebug, "{} cannot connect: {}", ep_.name(),
                       started.error().cause);
        ep_.state.move(EpCause::kConnectFailed);
        return started.error().code;
    }
    cm_ = std::move(*started);
    ep_.ia.counters.count(DCNT_IA_CM_REQ_TX);
    local_port_qual = cm_->local_port();
    if (is_pending(ep_.state.get())) start_timer(timeout);
    return DAT_SUCCESS;
}

DAT_RETURN EpConnection::accept(std::unique_ptr<cm::Connection>& request, DAT_CONN_QUAL conn_qual,
                                cm::PrivateData data) {
    ep_.ia.manager->loop.reserve(*this);
    forget();
    told_ = false;
    active_ = false;
    const EpCause undo = undoing_accept(ep_.state.get());
    ep_.state.move(EpCause::kAccept);
    if (ep_.shared) ep_.shared->begin(ep_.queue_pair());
    const auto accepted = or_no_memory(
        [&]() NO_THREAD_SAFETY_ANALYSIS { return request->accept(parameters(data), *this); });
    if (!accepted) {
        support::trace(support::Level::kDebug, "{} cannot accept: {}", ep_.name(),
                       accepted.error().cause);
        ep_.state.move(undo);
        return accepted.error().code;
    }
    cm_ = std::move(request);
    remote_address = cm_->peer_address();
    remote_port_qual = cm_->remote_port();
    local_port_qual = conn_qual;
    return DAT_SUCCESS;
}

/// A manager's answer() throws only while the connection exists.
void EpConnection::answer() {
    try {
        cm_->answer();
    } catch (const std::bad_alloc&) {
        withdraw();
        report(cm::Outcome::kLocalFailure, {});
    }
}

void EpConnection::start_timer(DAT_TIMEOUT timeout) {
    if (timeout == DAT_TIMEOUT_INFINITE) return;
    ep_.ia.manager->loop.arm(*this, Clock::now() + std::chrono::microseconds(timeout));
}

void EpConnection::disconnect(EpCause how, const EpReason& reason) {
    const DAT_EP_STATE before = ep_.state.get();
    if (!ep_.state.move(how, reason)) return;
    if (ep_.state.get() == DAT_EP_STATE_DISCONNECT_PENDING && ep_.requests.posted() > 0) {
        const int refused = ep_.post_marker();
        next_look_ = kFirstLook;
        if (refused == 0) return finish_requests();
        support::report<support::kRequestsNotAwaited>(
            ep_.id(), reinterpret_cast<std::uintptr_t>(ep_.handle()),
            std::generic_category().message(refused));
    }
    if (is_pending(before))
        withdraw();
    else
        request_end();
    if (ep_.state.get() != DAT_EP_STATE_DISCONNECTED) return;
    // A peer may use the connection, and break it, before kEstablished is reported at this side.
    const bool unfinished =
        before == DAT_EP_STATE_COMPLETION_PENDING && reason.source == EpReason::Source::kDevice;
    ended(unfinished ? DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
                     : DAT_CONNECTION_EVENT_DISCONNECTED);
}

void EpConnection::withdraw() {
    cm_->disconnect();
    cm_.reset();
}

void EpConnection::request_end() {
    cm_->disconnect();
    if (!std::exchange(end_requested_, true)) ep_.ia.counters.count(DCNT_IA_CM_DREQ_TX);
}

/// Polls the EVD for the marker, at growing intervals, since the consumer need not be polling it.
void EpConnection::finish_requests() {
    ep_.parts.request_evd->poll_for_marker();
    if (ep_.requests.finished.load(std::memory_order_acquire)) return request_end();
    ep_.ia.manager->loop.arm(*this, Clock::now() + next_look_);
    next_look_ = std::min(2 * next_look_, kLongestLook);
}

// When a request is at fault, both ends notice and disconnect, in either order. The event and the
// message to the user are the same in both orders.

void EpConnection::broken(const EpReason& reason) {
    if (was_ended_by_peer() && reason.is_refusal()) return tell_once(reason);
    if (!ep_.state.move(EpCause::kWorkError, reason)) return;
    request_end();
    ended(DAT_CONNECTION_EVENT_BROKEN);
}

void EpConnection::failed(const EpReason& reason) {
    if (was_ended_by_peer()) return tell_once(reason);
    disconnect(EpCause::kDisconnectAbrupt, reason);
}

bool EpConnection::was_ended_by_peer() const {
    return ep_.state.get() == DAT_EP_STATE_DISCONNECTED &&
           ep_.state.history().latest().cause == EpCause::kDisconnected;
}

void EpConnection::tell_once(const EpReason& reason) {
    if (!std::exchange(told_, true)) tell_late(ep_, reason);
}

void EpConnection::forget() {
    ep_.ia.manager->loop.cancel(*this);
    cm_.reset();
    end_requested_ = false;
    ep_.requests.taken_flushed = 0;
    private_data_.fill(std::byte{0});
}

void EpConnection::expired() {
    if (ep_.state.get() == DAT_EP_STATE_DISCONNECT_PENDING) return finish_requests();
    if (!ep_.state.move(EpCause::kRefused, {EpReason::Source::kTimer})) return;
    ep_.ia.counters.count(DCNT_IA_CM_ERR_TIMEOUT);
    const cm::Progress progress = cm_->progress();
    const sockaddr_storage peer = cm_->peer_address();
    cm_.reset();  // withdraws the request; a late answer is dropped
    cm::tell_timed_out({ep_.ia.adapter().address, peer, progress.step,
                        std::to_string(timeout_) + " us were allowed", progress.tries,
                        Clock::now() - begun_});
    ended(DAT_CONNECTION_EVENT_TIMED_OUT);
}

void EpConnection::report(cm::Outcome outcome, cm::PrivateData data) {
    // The accepting side's events carry no private data: programs tell the two sides apart by that.
    if (!active_) data = {};
    if (outcome == cm::Outcome::kEstablished) return established(data);
    const DAT_EP_STATE before = ep_.state.get();
    const EpCause cause =
        outcome == cm::Outcome::kDisconnected ? EpCause::kDisconnected : EpCause::kRefused;
    if (!ep_.state.move(cause, by_manager(outcome))) return;
    if (outcome == cm::Outcome::kDisconnected)
        count_disconnected(ep_.ia.counters, before == DAT_EP_STATE_DISCONNECT_PENDING);
    else
        count_failure(ep_.ia.counters, outcome);
    ended(event_of(outcome, before), data);
}

void EpConnection::established(cm::PrivateData data) {
    if (!ep_.state.move(EpCause::kEstablished, by_manager(cm::Outcome::kEstablished))) return;
    count_established(ep_.ia.counters, active_);
    ep_.ia.manager->loop.cancel(*this);
    if (active_) local_port_qual = cm_->local_port();
    if (active_ && ep_.shared) ep_.shared->begin(ep_.queue_pair());
    post(DAT_CONNECTION_EVENT_ESTABLISHED, data);
}

std::uint64_t EpConnection::traced_id() const {
    return ep_.id();
}

DAT_EVENT_NUMBER EpConnection::event_of(cm::Outcome outcome, DAT_EP_STATE before) const {
    if (before == DAT_EP_STATE_COMPLETION_PENDING)
        return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
    switch (outcome) {
        case cm::Outcome::kPeerRejected:
            return DAT_CONNECTION_EVENT_PEER_REJECTED;
        case cm::Outcome::kNonPeerRejected:
            return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
        case cm::Outcome::kUnreachable:
            return is_pending(before) ? DAT_CONNECTION_EVENT_UNREACHABLE
                                      : DAT_CONNECTION_EVENT_BROKEN;
        case cm::Outcome::kLocalFailure:
            return DAT_CONNECTION_EVENT_BROKEN;
        default:
            return DAT_CONNECTION_EVENT_DISCONNECTED;
    }
}

void EpConnection::ended(DAT_EVENT_NUMBER number, cm::PrivateData data) {
    ep_.ia.manager->loop.cancel(*this);
    ep_.flush_queue_pair();
    told_ = tell_end(ep_);
    post(number, data);
}

void EpConnection::post(DAT_EVENT_NUMBER number, cm::PrivateData data) {
    const std::size_t size = std::min(data.size(), private_data_.size());
    private_data_.fill(std::byte{0});
    if (size > 0) std::memcpy(private_data_.data(), data.data(), size);
    support::trace(support::Level::kDebug, "{} event {:x}, {} bytes of private data", ep_.name(),
                   static_cast<unsigned>(number), size);
    post_connection_event(*ep_.parts.connect_evd, number, ep_.handle(),
                          static_cast<DAT_COUNT>(size), size > 0 ? private_data_.data() : nullptr);
}

void transfer_failed(Ep& ep, const EpReason& reason) {
    if (ep.ud) return ep.ud->failed();
    ep.connection.broken(reason);
}
void queue_pair_failed(Ep& ep, ibv_event_type type) {
    if (ep.ud) return ep.ud->failed();
    ep.connection.failed({EpReason::Source::kDevice, type});
}
void abandon_connection(Ep& ep) {
    if (ep.ud) return ep.ud->forget_exchanges();
    ep.connection.disconnect(EpCause::kDisconnectAbrupt, {EpReason::Source::kEnd});
    ep.connection.forget();
}
void forget_connection(Ep& ep) {
    if (ep.ud) return ep.ud->forget_exchanges();
    ep.connection.forget();
}

}  // namespace dapl
