// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Both sides of a connection over a TCP socket that the program has connected itself.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>

#include "dapl/adapter/refusal.hpp"
#include "dapl/cm/failed_try.hpp"
#include "dapl/cm/failure.hpp"
#include "dapl/cm/lent_socket.hpp"
#include "providers/sockets/active.hpp"
#include "providers/sockets/arrival.hpp"
#include "providers/sockets/host.hpp"
#include "providers/sockets/passive.hpp"

namespace dapl::sockets {
namespace {

Link lent(Host& host, UniqueFd socket) {
    return {host.loop, std::move(socket), Link::Owner::kProgram};
}

class ConvertedConnection final : public ActiveConnection {
  public:
    ConvertedConnection(Host& host, UniqueFd socket, const cm::Parameters& parameters,
                        cm::User& user) REQUIRES(connection_lock)
        : ConvertedConnection(host, cm::other_end(socket), std::move(socket), parameters, user) {}

    support::Result<void> start() REQUIRES(connection_lock) {
        if (auto found = find_own_end(); !found) {
            link_.settle();  // nothing has been sent
            return found;
        }
        if (auto watched = link_.watch(*this, cm::Interest::kRead); !watched) {
            link_.settle();
            return watched;
        }
        send_request(Shape::kCurrent);
        return {};
    }

  private:
    ConvertedConnection(Host& host, const sockaddr_storage& peer, UniqueFd socket,
                        const cm::Parameters& parameters, cm::User& user) REQUIRES(connection_lock)
        : ActiveConnection(host, lent(host, std::move(socket)), peer, parameters, user) {}

    void go_on() override REQUIRES(connection_lock) { read_reply(); }
    void waited() override REQUIRES(connection_lock) {
        cm::tell_unreachable({host_.adapter.address, peer_, "waiting for the peer's answer", cause_,
                              1, cm::Timer::Clock::now() - started_});
        ended(cm::Outcome::kUnreachable);
    }
    /// Reported by the event thread: this may be the call that starts.
    void not_answered(const std::string& cause) override REQUIRES(connection_lock) {
        cause_ = cause;
        link_.unwatch();
        wait(cm::Timer::Clock::duration::zero());
    }

    const cm::Timer::Clock::time_point started_ = cm::Timer::Clock::now();
    std::string cause_;
};

class SocketListener final : public cm::Listener, private Arrival::Owner {
  public:
    SocketListener(Host& host, UniqueFd socket, cm::ListenUser& user) REQUIRES(connection_lock)
        : user_(user) {
        const sockaddr_storage peer = cm::other_end(socket);
        Owner& owner = *this;
        arrival_.emplace(host, owner, lent(host, std::move(socket)), peer);
    }
    ~SocketListener() override REQUIRES(connection_lock) { arrival_.reset(); }

    support::Result<void> start() REQUIRES(connection_lock) { return arrival_->watch(); }

  private:
    void arrived(Arrival& arrival) override REQUIRES(connection_lock) {
        auto connection = arrival.take_request();
        const Message copy = arrival.request();
        trace_received(*connection, nullptr, cm::message::kRequest, copy.private_data_size);
        arrival_.reset();
        user_.request(std::move(connection), copy.given_private_data());
    }
    void dropped(Arrival&) override REQUIRES(connection_lock) {
        arrival_.reset();
        user_.deserted();
    }

    cm::ListenUser& user_;
    std::optional<Arrival> arrival_ GUARDED_BY(connection_lock);
};

/// @return whether the socket's buffer takes so many bytes at once.
bool has_room(const UniqueFd& socket, std::size_t bytes) {
    int limit = 0, queued = 0;
    socklen_t size = sizeof limit;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &limit, &size) != 0) return false;
    if (ioctl(socket.get(), SIOCOUTQ, &queued) != 0) return false;
    // The kernel counts its own overhead too, up to as much again.
    return static_cast<std::size_t>(queued) + bytes <= static_cast<std::size_t>(limit) / 2;
}

/// @return 0 or an errno value. What is sent in part cannot be taken back: then the socket is shut
/// down.
int send_last_words(const UniqueFd& socket, std::span<const std::byte> words) {
    if (words.empty()) return 0;
    if (!has_room(socket, words.size())) return ENOBUFS;
    const ssize_t taken =
        send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken == static_cast<ssize_t>(words.size())) return 0;
    if (taken < 0) return errno;
    shutdown(socket.get(), SHUT_RDWR);
    return ENOBUFS;
}

}  // namespace

support::Result<std::unique_ptr<cm::Connection>> Host::connect(UniqueFd socket,
                                                               const cm::Parameters& parameters,
                                                               cm::User& user) {
    auto connection =
        std::make_unique<ConvertedConnection>(*this, std::move(socket), parameters, user);
    if (const auto started = connection->start(); !started) return tl::unexpected(started.error());
    return connection;
}

support::Result<std::unique_ptr<cm::Listener>> Host::listen(UniqueFd socket,
                                                            std::span<const std::byte> last_words,
                                                            cm::ListenUser& user) {
    if (const int error = send_last_words(socket, last_words))
        return refused_by_system(error, "the last words of a socket");
    auto listener = std::make_unique<SocketListener>(*this, std::move(socket), user);
    if (const auto started = listener->start(); !started) return tl::unexpected(started.error());
    return listener;
}

}  // namespace dapl::sockets
