// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The active side of the exchange, from a connected socket on.
#pragma once

#include "providers/sockets/connection.hpp"

namespace dapl::sockets {

class ActiveConnection : public Connection {
  protected:
    ActiveConnection(Host& host, Link link, const sockaddr_storage& peer,
                     const cm::Parameters& parameters, cm::User& user) REQUIRES(connection_lock);

    /// First step. @return why there is no path, which is reported.
    support::Result<void> find_own_end() REQUIRES(connection_lock);
    void send_request(Shape shape) REQUIRES(connection_lock);
    /// Continues after send_request(), whenever the socket is ready.
    void read_reply() REQUIRES(connection_lock);
    /// The socket has failed, or the peer has closed it, before its answer was complete.
    virtual void not_answered(const std::string& cause) REQUIRES(connection_lock) = 0;
    /// @return bytes of the answer that have come.
    std::size_t answer_size() const { return reader_.size(); }

  private:
    void take_reply() REQUIRES(connection_lock);
    bool connect_queue_pair(const Message& reply) REQUIRES(connection_lock);

    Reader reader_{Reader::Expected::kReply};
    OwnEnd own_end_{};
};

}  // namespace dapl::sockets
