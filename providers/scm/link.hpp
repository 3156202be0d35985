// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A TCP socket between two sides: sends whole messages, reads what there is, never blocks.
#pragma once

#include <netinet/in.h>

#include <string>

#include "dapl/cm/event_loop.hpp"
#include "providers/scm/message.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::scm {

using support::UniqueFd;

/// A new non-blocking TCP socket, invalid with errno on failure. Its port may be listened on while
/// connections that had it are still around, and the other way round.
UniqueFd make_socket();
/// Messages are small and each waits for an answer: none is held back. For connections.
void send_at_once(const UniqueFd& socket);
class Link {
  public:
    /// @param socket connected, or connecting.
    Link(cm::EventLoop& loop, UniqueFd socket) : loop_(loop), socket_(std::move(socket)) {}
    explicit Link(cm::EventLoop& loop) : loop_(loop) {}
    Link(Link&& other) = default;
    ~Link() REQUIRES(connection_lock) { close(); }
    /// Closes the one it had.
    void open(UniqueFd socket) REQUIRES(connection_lock);
    /// The peer sees the end even where a forked process has the socket too.
    void close() REQUIRES(connection_lock);
    bool is_open() const { return socket_.valid(); }
    /// Of a socket that connects or is connected; family 0 where the system does not tell. Asked
    /// once.
    const sockaddr_storage& own_address() const REQUIRES(connection_lock);

    support::Result<void> watch(cm::EventSource& source, cm::Interest interest)
        REQUIRES(connection_lock);
    /// Before somebody else takes the link over.
    void unwatch() REQUIRES(connection_lock);
    bool is_watched() const REQUIRES(connection_lock) { return watched_; }
    /// @return the error of a connect that has ended, 0 for success.
    int connect_result() const;

    /// One write; what the socket does not take is left to continue_sending().
    /// @return 0 or an errno value.
    int send(const Bytes& message) REQUIRES(connection_lock);
    /// For a socket that has become ready. @return 0 or an errno value.
    int continue_sending() REQUIRES(connection_lock);

    enum class State { kMore, kComplete, kRefused, kClosed };
    struct Reading {
        State state;
        std::string cause;  ///< for kRefused and kClosed
    };
    /// Reads what there is of a message.
    Reading read(Reader& reader) REQUIRES(connection_lock);
    /// @return whether the peer has said or done anything at all.
    bool has_news() const REQUIRES(connection_lock);

  private:
    cm::EventLoop& loop_;
    UniqueFd socket_;
    Bytes sending_;
    std::size_t sent_ = 0;
    bool watched_ = false;
    mutable sockaddr_storage own_address_{};
};

}  // namespace dapl::scm
