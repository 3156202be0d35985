// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The part common to both sides of a connection, above all its second half: the socket of an
/// established connection carries nothing, so whatever happens to it is the end.
#pragma once

#include "dapl/cm/traced_message.hpp"
#include "providers/exchange/side.hpp"
#include "providers/sockets/host.hpp"
#include "providers/sockets/link.hpp"

namespace dapl::sockets {

using exchange::OwnEnd;
using exchange::Way;

class Connection : public exchange::Side, protected cm::EventSource, private cm::Timer {
  public:
    void disconnect() final REQUIRES(connection_lock);
    std::uint16_t local_port() const final REQUIRES(connection_lock);
    std::uint16_t remote_port() const final REQUIRES(connection_lock);

  protected:
    /// In this order.
    enum class State { kOpening, kHandshake, kConnected, kEnded };

    /// @param user nullptr if there is none yet.
    Connection(Host& host, Link link, const sockaddr_storage& peer, cm::User* user);
    ~Connection() override REQUIRES(connection_lock);

    void ready() final REQUIRES(connection_lock);
    void expired() final REQUIRES(connection_lock);
    /// Called when the socket is ready, before the connection is established.
    virtual void go_on() REQUIRES(connection_lock) = 0;
    /// Called when the timer of wait() expires, before the connection is established.
    virtual void waited() REQUIRES(connection_lock) = 0;
    void wait(Clock::duration time) REQUIRES(connection_lock);

    /// @return this side's request or reply.
    Message offer(Operation operation, const OwnEnd& own, std::uint8_t mtu) const
        REQUIRES(connection_lock);
    /// Reports kEstablished, after closing the socket if this is a datagram endpoint, which no
    /// longer needs it.
    void established(cm::PrivateData data = {}) REQUIRES(connection_lock);
    /// Closes the socket, or gives it back, then makes the last report.
    void ended(cm::Outcome outcome, cm::PrivateData data = {}) REQUIRES(connection_lock);

    Host& host_;
    State state_ = State::kOpening;
    Link link_;
};

}  // namespace dapl::sockets
