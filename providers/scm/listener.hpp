// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A listening socket and the peers that have connected to it but not sent their whole request yet.
#pragma once

#include <list>
#include <memory>

#include "dapl/cm/manager.hpp"
#include "providers/exchange/timed_queue.hpp"
#include "providers/scm/link.hpp"

namespace dapl::scm {

class Manager;

class Listener final : public cm::Listener, private cm::EventSource {
  public:
    Listener(Manager& manager, cm::ListenUser& user);
    ~Listener() override REQUIRES(connection_lock);
    /// @param port host order.
    support::Result<void> start(std::uint16_t port) REQUIRES(connection_lock);

  private:
    class Arrival;

    void ready() override REQUIRES(connection_lock);
    void not_accepted(int error) REQUIRES(connection_lock);
    /// Destroys the arrival, and possibly this listener: the consumer who gets the request may
    /// close it.
    void complete(Arrival& arrival) REQUIRES(connection_lock);
    /// Destroys the arrival. @param why for a message; if empty, there is none.
    void drop(Arrival& arrival, const std::string& why) REQUIRES(connection_lock);

    Manager& manager_;
    cm::ListenUser& user_;
    UniqueFd socket_;
    std::list<std::unique_ptr<Arrival>> arrivals_;
};

}  // namespace dapl::scm
