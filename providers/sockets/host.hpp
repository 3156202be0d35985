// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the connections over sockets of one connection manager share.
#pragma once

#include <string_view>

#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/manager.hpp"
#include "providers/exchange/path.hpp"
#include "providers/exchange/timed_queue.hpp"

namespace dapl::sockets {

/// The manager owns it, and what it refers to.
class Host {
  public:
    Host(cm::EventLoop& event_loop, const exchange::Port& own_port, const cm::Adapter& own_adapter,
         std::string_view ia_name);
    /// To be called before destruction.
    void stop() REQUIRES(connection_lock);

    cm::EventLoop& loop;
    const exchange::Port& port;
    const cm::Adapter& adapter;
    exchange::TimedQueue arrivals;  ///< peers whose request is incomplete
    /// Peers that have not confirmed the connection. There are as many as the consumer has
    /// accepted; only their time is limited.
    exchange::TimedQueue accepted;
};

}  // namespace dapl::sockets
