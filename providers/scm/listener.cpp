// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/listener.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "dapl/adapter/refusal.hpp"
#include "dapl/cm/failure.hpp"
#include "providers/scm/manager.hpp"
#include "providers/sockets/passive.hpp"
#include "support/log/log.hpp"

namespace dapl::scm {

Listener::Listener(Manager& manager, cm::ListenUser& user) : manager_(manager), user_(user) {}

Listener::~Listener() {
    if (!socket_.valid()) return;
    manager_.loop.forget(socket_.get());
    // Ends listening even if a forked process has the socket too.
    shutdown(socket_.get(), SHUT_RDWR);
    arrivals_.clear();
}

support::Result<void> Listener::start(std::uint16_t port) {
    sockaddr_in address{};
    std::memcpy(&address, &manager_.adapter().address, sizeof address);
    address.sin_port = htons(port);
    sockets::UniqueFd socket = sockets::make_socket();
    if (!socket.valid()) return refused_by_system(errno, "a service point");
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return cm::system_failure(errno, "bind");
    if (listen(socket.get(), SOMAXCONN) != 0) return cm::system_failure(errno, "listen");
    if (auto watched = manager_.loop.watch(socket.get(), *this); !watched) return watched;
    socket_ = std::move(socket);
    return {};
}

/// Accepts one peer at a time: its request may end this listener, and other sockets get their turn.
void Listener::ready() {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    sockets::UniqueFd socket(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                                     SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return not_accepted(errno);
    sockets::send_at_once(socket);
    Owner& owner = *this;
    arrivals_
        .emplace_front(manager_.host(), owner, sockets::Link(manager_.loop, std::move(socket)),
                       peer)
        .start();
}

void Listener::not_accepted(int error) {
    const bool lacks_descriptors = error == EMFILE || error == ENFILE;
    if (!lacks_descriptors && error != ENOBUFS && error != ENOMEM) return;  // the peer has gone
    if (lacks_descriptors && manager_.host().arrivals.expel_oldest("no file descriptor is left"))
        return;
    manager_.tell_no_descriptor(error);
    manager_.loop.rest(socket_.get());
}

void Listener::dropped(sockets::Arrival& arrival) {
    arrivals_.erase(std::ranges::find(arrivals_, &arrival, [](const auto& one) { return &one; }));
}

void Listener::arrived(sockets::Arrival& arrival) {
    auto connection = arrival.take_request();
    const sockets::Message copy = arrival.request();
    trace_received(*connection, nullptr, cm::message::kRequest, copy.private_data_size);
    dropped(arrival);
    user_.request(std::move(connection), copy.given_private_data());
}

}  // namespace dapl::scm
