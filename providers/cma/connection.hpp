// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The part common to both sides of a connection: the id, and the end of the connection.
#pragma once

#include "dapl/cm/side.hpp"
#include "dapl/cm/traced_message.hpp"
#include "dapl/cm/unlocked_step.hpp"
#include "providers/cma/event.hpp"
#include "providers/cma/manager.hpp"

namespace dapl::cma {

class Connection : public cm::Side, protected EventTarget {
  public:
    ~Connection() override = default;
    void disconnect() override REQUIRES(connection_lock);
    std::uint16_t local_port() const final REQUIRES(connection_lock);
    std::uint16_t remote_port() const final REQUIRES(connection_lock);

  protected:
    enum class State { kHandshake, kConnected, kEnded };

    /// @param user nullptr if there is none yet. @param id empty if there is none yet.
    Connection(const Manager& manager, const sockaddr_storage& peer, cm::User* user, Id id)
        : cm::Side(peer, user), manager_(manager), id_(std::move(id)) {}

    /// Handles the events that both sides get.
    void handle(const Event& event) override REQUIRES(connection_lock);
    void give_up() final REQUIRES(connection_lock);
    /// Traces a message of the peer.
    void received(const char* message, const Event& event) const REQUIRES(connection_lock) {
        trace_received(*this, user_, message, event.data.all().size());
    }
    /// Ends an attempt that failed. @param outcome kUnreachable or kNonPeerRejected.
    virtual void not_made(cm::Outcome outcome, const std::string& cause, cm::PrivateData data = {})
        REQUIRES(connection_lock);
    void report(cm::Outcome outcome, cm::PrivateData data = {}) REQUIRES(connection_lock);
    rdma_conn_param parameters() const;
    /// On iWARP gives librdmacm the queue pair, which it moves where the kernel does not: at the
    /// end.
    void lend_queue_pair() REQUIRES(connection_lock);

    const Manager& manager_;
    State state_ = State::kHandshake;
    Id id_;
    cm::UnlockedStep moving_;  ///< destroyed before the id

  private:
    void rejected(const Event& event) REQUIRES(connection_lock);
};

}  // namespace dapl::cma
