// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A listening socket and the peers that have connected to it but not sent their whole request yet.
#pragma once

#include <list>

#include "dapl/cm/manager.hpp"
#include "providers/sockets/arrival.hpp"

namespace dapl::scm {

class Manager;

class Listener final : public cm::Listener,
                       private cm::EventSource,
                       private sockets::Arrival::Owner {
  public:
    Listener(Manager& manager, cm::ListenUser& user);
    ~Listener() override REQUIRES(connection_lock);
    /// @param port host order.
    support::Result<void> start(std::uint16_t port) REQUIRES(connection_lock);

  private:
    void ready() override REQUIRES(connection_lock);
    void not_accepted(int error) REQUIRES(connection_lock);
    /// May destroy this listener too: the consumer who gets the request may close it.
    void arrived(sockets::Arrival& arrival) override REQUIRES(connection_lock);
    void dropped(sockets::Arrival& arrival) override REQUIRES(connection_lock);

    Manager& manager_;
    cm::ListenUser& user_;
    sockets::UniqueFd socket_;
    std::list<sockets::Arrival> arrivals_;
};

}  // namespace dapl::scm
