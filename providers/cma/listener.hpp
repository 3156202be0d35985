// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Listens for requests of connections and, where the device serves them, of datagram endpoints.
#pragma once

#include "providers/cma/manager.hpp"

namespace dapl::cma {

class Listener final : public cm::Listener, private EventTarget {
  public:
    Listener(const Manager& manager, cm::ListenUser& user) : manager_(manager), user_(user) {}
    /// @param port host order.
    support::Result<void> start(std::uint16_t port) REQUIRES(connection_lock);

  private:
    void handle(const Event& event) override REQUIRES(connection_lock);
    void give_up() override REQUIRES(connection_lock) {}
    support::Result<Id> listen(rdma_port_space space, std::uint16_t port) REQUIRES(connection_lock);
    void datagrams_requested(const Event& event, Id id) REQUIRES(connection_lock);
    void hand_over(std::unique_ptr<cm::Connection> request, cm::PrivateData data)
        REQUIRES(connection_lock);

    const Manager& manager_;
    cm::ListenUser& user_;
    Id id_;
    Id datagram_id_;
};

}  // namespace dapl::cma
