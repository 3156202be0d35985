// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection of an endpoint: turns calls, reports of the connection manager and the consumer's
/// timeout into moves of the EP's state, and each move into its event.
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

/// connection_lock guards all members.
class EpConnection final : private cm::User, private cm::Timer {
  public:
    explicit EpConnection(Ep& ep) : ep_(ep) {}
    EpConnection(const EpConnection&) = delete;
    EpConnection& operator=(const EpConnection&) = delete;

    sockaddr_storage remote_address{};  ///< family 0 before the first connection; kept after it
    std::uint64_t local_port_qual = 0;
    std::uint64_t remote_port_qual = 0;

    /// Connects at the active side. The EP is UNCONNECTED and complete.
    /// @param peer as peer_address() reads it. @param timeout microseconds.
    DAT_RETURN connect(const sockaddr* peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                       cm::PrivateData data) REQUIRES(connection_lock);
    /// The same over a connected socket.
    DAT_RETURN connect_over(support::UniqueFd socket, DAT_TIMEOUT timeout, cm::PrivateData data)
        REQUIRES(connection_lock);
    /// Accepts at the passive side. The EP is complete, and either UNCONNECTED or the one that came
    /// with the request. Takes the request only on success.
    /// @param conn_qual of the service point.
    DAT_RETURN accept(std::unique_ptr<cm::Connection>& request, DAT_CONN_QUAL conn_qual,
                      cm::PrivateData data) REQUIRES(connection_lock);
    /// Completes a successful accept(). Releases connection_lock meanwhile: the EP may be gone when
    /// it returns.
    void answer() REQUIRES(connection_lock);
    /// Disconnects, if the state has such a move.
    /// @param how kDisconnectGraceful: when all posted requests are done, which may be after the
    /// call; kDisconnectAbrupt: at once.
    void disconnect(EpCause how, const EpReason& reason = {}) REQUIRES(connection_lock);
    /// Breaks a connected EP, because a transfer failed or too many receives are held. If the peer
    /// disconnected first and `reason` is a refusal, only reports it to the user.
    void broken(const EpReason& reason) REQUIRES(connection_lock);
    /// Ends the connection abruptly on a fault that the device reports; if the peer disconnected
    /// first, only reports the fault to the user.
    void failed(const EpReason& reason) REQUIRES(connection_lock);
    /// Discards the last connection with its private data. The EP is not connected.
    void forget() REQUIRES(connection_lock);

  private:
    /// @param peer with its port. @param start () -> Result<unique_ptr<cm::Connection>>.
    template <class Start>
    DAT_RETURN begin(const sockaddr_storage& peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                     const Start& start) REQUIRES(connection_lock);
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
    /// Flushes and posts the event, when the state has just become DISCONNECTED.
    void ended(DAT_EVENT_NUMBER number, cm::PrivateData data = {}) REQUIRES(connection_lock);
    void post(DAT_EVENT_NUMBER number, cm::PrivateData data) REQUIRES(connection_lock);

    static constexpr std::size_t kLargestData = 256;

    Ep& ep_;
    bool active_ = false;
    bool told_ = false;           ///< the end was reported to the user
    bool end_requested_ = false;  ///< the disconnect request was counted
    DAT_TIMEOUT timeout_ = DAT_TIMEOUT_INFINITE;
    Clock::time_point begun_{};
    Clock::duration next_look_{};  ///< poll interval of a graceful disconnect
    std::array<std::byte, kLargestData> private_data_{};  ///< the last event points to it
    std::unique_ptr<cm::Connection> cm_;
};

/// Counts a failed connection or connection request by its outcome.
void count_failure(IaCounters& counters, cm::Outcome outcome);
/// Handles a failed transfer (not a flush) whose completion the consumer has consumed, or an
/// exceeded hard watermark: a CONNECTED EP breaks. Runs on the consumer's thread.
void transfer_failed(Ep& ep, const EpReason& reason) REQUIRES(connection_lock);
/// Handles an async error event of the QP. Runs on the service thread, which also posts DAT's async
/// event.
void queue_pair_failed(Ep& ep, ibv_event_type type) REQUIRES(connection_lock);
/// Ends the connection abruptly, whatever its state, with its event; for dat_ep_free and
/// dat_ia_close. On return no connection manager knows the EP.
void abandon_connection(Ep& ep) REQUIRES(connection_lock);
/// Discards the last connection with its private data; for dat_ep_reset.
void forget_connection(Ep& ep) REQUIRES(connection_lock);

}  // namespace dapl
