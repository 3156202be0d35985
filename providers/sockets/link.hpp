// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A TCP socket between two sides: sends whole messages, reads what has arrived, never blocks. The
/// socket may be the program's: then its file status flags stay as they are.
#pragma once

#include <netinet/in.h>

#include <string>

#include "dapl/cm/event_loop.hpp"
#include "providers/sockets/message.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::sockets {

using support::UniqueFd;

/// Makes a non-blocking TCP socket; invalid with errno on failure. Its port may be listened on
/// while earlier connections of the port still exist, and the other way round.
UniqueFd make_socket();
/// For connections: messages are small and each waits for an answer, so none is held back.
void send_at_once(const UniqueFd& socket);
class Link {
  public:
    /// Names the socket's owner. A program keeps a descriptor of its own of what it lends, and can
    /// go on with that after an exchange that a rejection has settled.
    enum class Owner { kLibrary, kProgram };

    /// @param socket connected, or connecting.
    Link(cm::EventLoop& loop, UniqueFd socket, Owner owner = Owner::kLibrary)
        : loop_(loop), socket_(std::move(socket)), owner_(owner) {}
    explicit Link(cm::EventLoop& loop) : loop_(loop) {}
    Link(Link&& other) = default;
    ~Link() REQUIRES(connection_lock) { close(); }
    /// Takes this socket and closes the previous one.
    void open(UniqueFd socket) REQUIRES(connection_lock);
    /// Shuts the connection down, so that the peer sees the end even if a forked process has the
    /// socket too; but gives a program its socket back if the exchange is settled.
    void close() REQUIRES(connection_lock);
    /// A rejection has been sent or received: both sides know that nothing of the exchange follows.
    void settle() REQUIRES(connection_lock) { is_settled_ = true; }
    bool is_programs() const { return owner_ == Owner::kProgram; }
    bool is_open() const { return socket_.valid(); }
    /// @return the local address of a socket that connects or is connected; family 0 if the system
    /// does not give it. The system is asked once.
    const sockaddr_storage& own_address() const REQUIRES(connection_lock);

    support::Result<void> watch(cm::EventSource& source, cm::Interest interest)
        REQUIRES(connection_lock);
    /// To be called before somebody else takes the link over.
    void unwatch() REQUIRES(connection_lock);
    bool is_watched() const REQUIRES(connection_lock) { return watched_; }
    /// @return the error of a finished connect, 0 for success.
    int connect_result() const;

    /// Makes one write; continue_sending() sends what the socket does not take.
    /// @return 0 or an errno value.
    int send(const Bytes& message) REQUIRES(connection_lock);
    /// To be called when the socket has become ready. @return 0 or an errno value.
    int continue_sending() REQUIRES(connection_lock);

    enum class State { kMore, kComplete, kRefused, kClosed };
    struct Reading {
        State state;
        std::string cause;  ///< for kRefused and kClosed
    };
    /// Reads what has arrived of a message.
    Reading read(Reader& reader) REQUIRES(connection_lock);
    /// @return whether anything has come from the peer: data, the end of the stream, or an error.
    bool has_news() const REQUIRES(connection_lock);

  private:
    cm::EventLoop& loop_;
    UniqueFd socket_;
    Owner owner_ = Owner::kLibrary;
    bool is_settled_ = false;
    Bytes sending_;
    std::size_t sent_ = 0;
    bool watched_ = false;
    mutable sockaddr_storage own_address_{};
};

}  // namespace dapl::sockets
