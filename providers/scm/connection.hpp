// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What both sides of a connection have in common, above all its second half: once it is
/// established the socket carries nothing, and whatever happens to it is the end.
#pragma once

#include "dapl/cm/side.hpp"
#include "dapl/cm/traced_message.hpp"
#include "dapl/cm/unlocked_step.hpp"
#include "providers/scm/link.hpp"
#include "providers/scm/path.hpp"

namespace dapl::scm {

class Manager;

class Connection : public cm::Side, protected cm::EventSource, private cm::Timer {
  public:
    void disconnect() final REQUIRES(connection_lock);
    std::uint16_t local_port() const final REQUIRES(connection_lock);
    std::uint16_t remote_port() const final REQUIRES(connection_lock);

  protected:
    /// In this order.
    enum class State { kOpening, kHandshake, kConnected, kEnded };

    /// @param user nullptr where there is none yet.
    Connection(Manager& manager, Link link, const sockaddr_storage& peer, cm::User* user);
    ~Connection() override REQUIRES(connection_lock);

    void ready() final REQUIRES(connection_lock);
    void expired() final REQUIRES(connection_lock);
    /// The socket is ready before the connection is established.
    virtual void go_on() REQUIRES(connection_lock) = 0;
    /// The timer of wait(), before the connection is established.
    virtual void waited() REQUIRES(connection_lock) = 0;
    void wait(Clock::duration time) REQUIRES(connection_lock);

    /// A request or reply of this side.
    Message offer(Operation operation, const OwnEnd& own, std::uint8_t mtu) const
        REQUIRES(connection_lock);
    /// Datagram endpoints are not connected: what they need is an address.
    void keep_address(const OwnEnd& own, const Message& peer) REQUIRES(connection_lock);
    /// For connect() of the port.
    Way way_to(const OwnEnd& own, const Message& peer, std::uint8_t mtu) const
        REQUIRES(connection_lock);
    /// Datagram endpoints need the socket no more.
    void established(cm::PrivateData data = {}) REQUIRES(connection_lock);
    /// The last report; the socket is closed first.
    void ended(cm::Outcome outcome, cm::PrivateData data = {}) REQUIRES(connection_lock);
    void tell_no_path(const std::string& cause) const REQUIRES(connection_lock);

    Manager& manager_;
    State state_ = State::kOpening;
    Link link_;
    cm::UnlockedStep moving_;
};

}  // namespace dapl::scm
