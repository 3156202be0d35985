// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Holds what the connections over sockets of one connection manager share.
#pragma once

#include <string_view>

#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/manager.hpp"
#include "providers/exchange/path.hpp"
#include "providers/exchange/timed_queue.hpp"

namespace dapl::sockets {

/// The manager owns it, and what it refers to. As a SocketService it is in converted.cpp.
class Host final : public cm::SocketService {
  public:
    Host(cm::EventLoop& event_loop, const exchange::Port& own_port, const cm::Adapter& own_adapter,
         std::string_view ia_name);
    support::Result<std::unique_ptr<cm::Connection>> connect(support::UniqueFd socket,
                                                             const cm::Parameters& parameters,
                                                             cm::User& user) override
        REQUIRES(connection_lock);
    support::Result<std::unique_ptr<cm::Listener>> listen(support::UniqueFd socket,
                                                          std::span<const std::byte> last_words,
                                                          cm::ListenUser& user) override
        REQUIRES(connection_lock);
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
