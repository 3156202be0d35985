// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/link.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace dapl::sockets {
namespace {

bool is_for_later(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

void set_option(int socket, int level, int option) {
    const int on = 1;
    setsockopt(socket, level, option, &on, sizeof on);
}

}  // namespace

UniqueFd make_socket() {
    UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made.valid()) set_option(made.get(), SOL_SOCKET, SO_REUSEADDR);
    return made;
}

void send_at_once(const UniqueFd& socket) {
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY);
}

const sockaddr_storage& Link::own_address() const {
    socklen_t size = sizeof own_address_;
    if (own_address_.ss_family == AF_UNSPEC &&
        getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own_address_), &size) != 0)
        own_address_ = {};
    return own_address_;
}

void Link::open(UniqueFd socket) {
    close();
    socket_ = std::move(socket);
}

void Link::close() {
    if (!socket_.valid()) return;
    unwatch();
    const bool is_given_back = is_programs() && is_settled_ && sent_ == sending_.all().size();
    if (!is_given_back) shutdown(socket_.get(), SHUT_RDWR);
    socket_.reset();
    sending_ = {};
    sent_ = 0;
    own_address_ = {};
}

support::Result<void> Link::watch(cm::EventSource& source, cm::Interest interest) {
    auto result = loop_.watch(socket_.get(), source, interest);
    watched_ = result.has_value();
    return result;
}

void Link::unwatch() {
    if (std::exchange(watched_, false)) loop_.forget(socket_.get());
}

int Link::connect_result() const {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int Link::send(const Bytes& message) {
    sending_ = message;
    sent_ = 0;
    return continue_sending();
}

int Link::continue_sending() {
    const auto rest = sending_.all().subspan(sent_);
    if (!rest.empty()) {
        const ssize_t taken =
            ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken < 0 && !is_for_later(errno)) return errno;
        if (taken > 0) sent_ += static_cast<std::size_t>(taken);
    }
    const bool is_done = sent_ == sending_.all().size();
    if (watched_)
        loop_.change_interest(socket_.get(),
                              is_done ? cm::Interest::kRead : cm::Interest::kReadWrite);
    return 0;
}

Link::Reading Link::read(Reader& reader) {
    for (;;) {
        const auto room = reader.space();
        const ssize_t got = recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
        if (got < 0 && is_for_later(errno)) return {State::kMore, {}};
        if (got < 0) return {State::kClosed, std::generic_category().message(errno)};
        if (got == 0 && reader.ended_here()) return {State::kComplete, {}};
        if (got == 0) return {State::kClosed, "end of stream"};
        const auto added = reader.added(static_cast<std::size_t>(got));
        if (!added) return {State::kRefused, added.error().cause};
        if (*added) return {State::kComplete, {}};
    }
}

bool Link::has_news() const {
    std::byte any;
    return recv(socket_.get(), &any, sizeof any, MSG_DONTWAIT | MSG_PEEK) >= 0 ||
           !is_for_later(errno);
}

}  // namespace dapl::sockets
