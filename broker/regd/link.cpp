// SPDX-License-Identifier: BSD-2-Clause
#include "broker/regd/link.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dapl::memory::regd {
namespace {

constexpr Time kBetweenTries = 500'000'000;

bool is_trusted(int socket) {
    ucred server{};
    socklen_t size = sizeof server;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) return false;
    return server.uid == 0 || server.uid == geteuid();
}

}  // namespace

tl::expected<support::UniqueFd, int> connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return tl::unexpected(ENAMETOOLONG);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    support::UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return tl::unexpected(errno);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        return tl::unexpected(errno);
    if (!is_trusted(fd.get())) return tl::unexpected(ECONNREFUSED);
    return fd;
}

/// Tries again when a daemon appears; by itself only after an error that passes, as that of a
/// daemon that has many to accept.
void Link::connect(Time time, Watch& watch) {
    if (path_.empty() || time < next_try_) return;
    auto fd = connect_to(path_);
    if (!fd) {
        const bool is_none = fd.error() == ENOENT || fd.error() == ECONNREFUSED;
        next_try_ = is_none && watch.valid() ? kNever : time + kBetweenTries;
        return;
    }
    socket_ = std::move(*fd);
    watch.add(socket_.get());
    budget_ = {kUnlimited, kUnlimited};
    reported_ = {};
    next_try_ = 0;
}

void Link::close() {
    socket_.reset();
}

Message Link::with_budget(const Message& report) const {
    Message message = report;
    message.budget = budget_;
    return message;
}

bool Link::has_sent(const Message& report) const {
    return connected() && with_budget(report) == reported_;
}

void Link::send(const Message& report) {
    if (has_sent(report)) return;
    const Message message = with_budget(report);
    const ssize_t sent =
        ::send(socket_.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return close();
    if (sent == static_cast<ssize_t>(sizeof message)) reported_ = message;
}

void Link::receive() {
    // One byte more than a message has, so that a longer one is not mistaken for one.
    char bytes[sizeof(Message) + 1];
    while (connected()) {
        const ssize_t size = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) return close();
        const auto message = parse(bytes, static_cast<std::size_t>(size));
        if (!message || message->kind != Kind::kBudget) return close();
        budget_ = message->budget;
    }
}

std::optional<Amount> Link::exchange(const Message& report, Time time, Watch& watch) {
    if (!connected()) connect(time, watch);
    if (!connected()) return std::nullopt;
    send(report);
    receive();
    if (!connected()) return std::nullopt;
    return budget_;
}

}  // namespace dapl::memory::regd
