// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A peer on a connected socket whose request has not come whole yet.
#pragma once

#include <memory>
#include <string>

#include "providers/exchange/timed_queue.hpp"
#include "providers/sockets/host.hpp"
#include "providers/sockets/link.hpp"

namespace dapl::sockets {

class PassiveConnection;

class Arrival final : private cm::EventSource, private exchange::TimedQueue::Member {
  public:
    class Owner {
      public:
        /// The request is there: take_request() is to be called, and the arrival destroyed.
        virtual void arrived(Arrival& arrival) REQUIRES(connection_lock) = 0;
        /// Nothing comes of it: the arrival is to be destroyed. The user has been told.
        virtual void dropped(Arrival& arrival) REQUIRES(connection_lock) = 0;

      protected:
        ~Owner() = default;
    };

    Arrival(Host& host, Owner& owner, Link link, const sockaddr_storage& peer);
    ~Arrival() REQUIRES(connection_lock);
    /// Begins with a peer that has connected: their time and number are limited. Most requests are
    /// there by now and need no watch, so the owner may be called from within.
    void start() REQUIRES(connection_lock);
    /// Begins on a program's socket; the event thread goes on.
    support::Result<void> watch() REQUIRES(connection_lock);
    std::unique_ptr<PassiveConnection> take_request() REQUIRES(connection_lock);
    /// @return the private data of the request.
    const Message& request() const { return request_.message(); }

  private:
    void ready() override REQUIRES(connection_lock);
    void expelled(const std::string& why) override REQUIRES(connection_lock);
    void complete() REQUIRES(connection_lock);
    /// @param why for a message; if empty, there is none.
    void drop(const std::string& why) REQUIRES(connection_lock);
    std::string progress() const;

    Host& host_;
    Owner& owner_;
    Link link_;
    Reader request_{Reader::Expected::kRequest};
    const sockaddr_storage peer_;
};

}  // namespace dapl::sockets
