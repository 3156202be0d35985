// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One side of an exchange of queue pairs: its offer, and its path to the peer's.
#pragma once

#include <optional>
#include <string>

#include "dapl/cm/side.hpp"
#include "dapl/cm/unlocked_step.hpp"
#include "providers/exchange/message.hpp"
#include "providers/exchange/path.hpp"

namespace dapl::exchange {

class Side : public cm::Side {
  public:
    std::optional<cm::Limits> limits() const final { return kLimits; }

  protected:
    /// @param user nullptr where there is none yet. @param port outlives the side.
    Side(const sockaddr_storage& peer, cm::User* user, const Port& port)
        : cm::Side(peer, user), port_(port) {}

    /// Fills in this side's request or reply: all that depends on its queue pair and parameters.
    void fill(Message& message, Operation operation, const OwnEnd& own, std::uint8_t mtu) const
        REQUIRES(connection_lock);
    /// Keeps the peer's address for a datagram endpoint, which is not connected.
    void keep_address(const OwnEnd& own, const Message& peer) REQUIRES(connection_lock);
    using Connected = tl::expected<void, std::string>;
    /// Connects the queue pair to the peer's, without connection_lock; for a datagram endpoint only
    /// keeps the peer's address.
    /// @return why there is no path; nullopt if another thread has ended the connection, which may
    /// be gone.
    std::optional<Connected> connect(const OwnEnd& own, const Message& peer, std::uint8_t mtu)
        REQUIRES(connection_lock);
    void tell_no_path(const std::string& cause) const;

    const Port& port_;
    cm::UnlockedStep moving_;

  private:
    /// @return the argument of the port's connect().
    Way way_to(const OwnEnd& own, const Message& peer, std::uint8_t mtu) const
        REQUIRES(connection_lock);
};

}  // namespace dapl::exchange
