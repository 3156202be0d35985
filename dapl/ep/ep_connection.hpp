// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection half of an endpoint: turns calls, reports of the connection manager and the
/// consumer's timeout into moves of the EP's state, and each move into its event.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>

#include "dapl/base/counters.hpp"
#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/ep/ep_state.hpp"

namespace dapl {

class Ep;

/// All of it is guarded by connection_lock.
class EpConnection final : private cm::User, private cm::Timer {
  public:
    explicit EpConnection(Ep& ep) : ep_(ep) {}
    EpConnection(const EpConnection&) = delete;
    EpConnection& operator=(const EpConnection&) = delete;

    sockaddr_storage remote_address{};  ///< family 0 before the first connection, kept after it
    std::uint64_t local_port_qual = 0;
    std::uint64_t remote_port_qual = 0;

    /// Active side; the EP is UNCONNECTED and complete.
    /// @param peer as peer_address() reads it. @param timeout microseconds.
    DAT_RETURN connect(const sockaddr* peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                       cm::PrivateData data) REQUIRES(connection_lock);
    /// Passive side; the EP is complete, and UNCONNECTED or the request's own. Takes the request
    /// only where it succeeds.
    /// @param conn_qual the service point's.
    DAT_RETURN accept(std::unique_ptr<cm::Connection>& request, DAT_CONN_QUAL conn_qual,
                      cm::PrivateData data) REQUIRES(connection_lock);
    /// @param how kDisconnectGraceful: a connection goes down when everything that is posted is
    /// done, be it after the call; kDisconnectAbrupt: now. Nothing happens where the state has no
    /// such move.
    void disconnect(EpCause how, const EpReason& reason = {}) REQUIRES(connection_lock);
    /// A transfer failed, or too many receives are held: a connected EP breaks. Where the peer's
    /// end came first, a refused request is what the user is told of it.
    void broken(const EpReason& reason) REQUIRES(connection_lock);
    /// The device reports a fault of a connection whose end may have come before.
    void failed(const EpReason& reason) REQUIRES(connection_lock);
    /// Forgets the last connection, its private data included; the EP is not connected.
    void forget() REQUIRES(connection_lock);

  private:
    void report(cm::Outcome outcome, cm::PrivateData data) override REQUIRES(connection_lock);
    std::uint64_t traced_id() const override;
    void expired() override REQUIRES(connection_lock);
    bool was_ended_by_peer() const REQUIRES(connection_lock);
    void tell_once(const EpReason& reason) REQUIRES(connection_lock);
    void withdraw() REQUIRES(connection_lock);
    void request_end() REQUIRES(connection_lock);
    void finish_requests() REQUIRES(connection_lock);
    void established(cm::PrivateData data) REQUIRES(connection_lock);
    DAT_EVENT_NUMBER event_of(cm::Outcome outcome, DAT_EP_STATE before) const;
    cm::Parameters parameters(cm::PrivateData data) REQUIRES(connection_lock);
    void start_timer(DAT_TIMEOUT timeout) REQUIRES(connection_lock);
    /// The state has just become DISCONNECTED: flushes, then posts the event.
    void ended(DAT_EVENT_NUMBER number, cm::PrivateData data = {}) REQUIRES(connection_lock);
    void post(DAT_EVENT_NUMBER number, cm::PrivateData data) REQUIRES(connection_lock);

    static constexpr std::size_t kLargestData = 256;

    Ep& ep_;
    bool active_ = false;
    bool told_ = false;           ///< the user knows of the end
    bool end_requested_ = false;  ///< the peer is told of it
    DAT_TIMEOUT timeout_ = DAT_TIMEOUT_INFINITE;
    Clock::time_point begun_{};
    Clock::duration next_look_{};  ///< while a graceful disconnect waits for the requests
    std::array<std::byte, kLargestData> private_data_{};  ///< what the last event points at
    std::unique_ptr<cm::Connection> cm_;
};

/// Counts what became of a request to connect, as its connection manager reports it.
void count_failure(IaCounters& counters, cm::Outcome outcome);
/// The consumer has taken the completion of a failed transfer (flushes not counted): a CONNECTED
/// EP breaks. On the consumer's thread.
void transfer_failed(Ep& ep, const EpReason& reason) REQUIRES(connection_lock);
/// The device says that the QP is in error. On the service thread, which posts the async event.
void queue_pair_failed(Ep& ep, ibv_event_type type) REQUIRES(connection_lock);
/// For dat_ep_free and dat_ia_close: ends the connection abruptly, whatever its state, with its
/// event. On return no connection manager knows the EP.
void abandon_connection(Ep& ep) REQUIRES(connection_lock);
/// For dat_ep_reset: forgets the last connection, its private data included.
void forget_connection(Ep& ep) REQUIRES(connection_lock);

}  // namespace dapl
