// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/listener.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "dapl/adapter/refusal.hpp"
#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/scm/bad_peer.hpp"
#include "providers/scm/manager.hpp"
#include "providers/scm/passive.hpp"
#include "support/log/log.hpp"

namespace dapl::scm {

class Listener::Arrival final : private cm::EventSource, private exchange::TimedQueue::Member {
  public:
    Arrival(Listener& listener, UniqueFd socket, const sockaddr_storage& peer)
        : listener_(listener),
          link_(listener.manager_.loop, std::move(socket)),
          peer_address_(peer) {}
    ~Arrival() REQUIRES(connection_lock) { listener_.manager_.arrivals.leave(*this); }

    /// Most requests have arrived by now and need no watch. May destroy the arrival, like ready().
    void start() REQUIRES(connection_lock) {
        listener_.manager_.arrivals.enter(*this);
        ready();
    }

  private:
    friend class Listener;

    void ready() override REQUIRES(connection_lock) {
        const auto [state, cause] = link_.read(request_);
        switch (state) {
            case Link::State::kMore:
                if (!link_.is_watched() && !link_.watch(*this, cm::Interest::kRead))
                    listener_.drop(*this, "");
                return;
            case Link::State::kComplete:
                return listener_.complete(*this);
            case Link::State::kRefused:
                return listener_.drop(*this, "its request has " + cause);
            case Link::State::kClosed:
                return listener_.drop(*this, request_.size() == 0 ? "" : progress() + cause);
        }
    }
    void expelled(const std::string& why) override REQUIRES(connection_lock) {
        listener_.drop(*this, progress() + why);
    }
    std::string progress() const {
        return "after " + std::to_string(request_.size()) + " bytes of a request, ";
    }

    Listener& listener_;
    Link link_;
    Reader request_{Reader::Expected::kRequest};
    sockaddr_storage peer_address_;
    std::list<std::unique_ptr<Arrival>>::iterator place_;
};

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
    UniqueFd socket = make_socket();
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
    UniqueFd socket(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return not_accepted(errno);
    send_at_once(socket);
    arrivals_.push_front(std::make_unique<Arrival>(*this, std::move(socket), peer));
    Arrival& arrival = *arrivals_.front();
    arrival.place_ = arrivals_.begin();
    arrival.start();
}

void Listener::not_accepted(int error) {
    const bool lacks_descriptors = error == EMFILE || error == ENFILE;
    if (!lacks_descriptors && error != ENOBUFS && error != ENOMEM) return;  // the peer has gone
    if (lacks_descriptors && manager_.arrivals.expel_oldest("no file descriptor is left")) return;
    manager_.tell_no_descriptor(error);
    manager_.loop.rest(socket_.get());
}

void Listener::drop(Arrival& arrival, const std::string& why) {
    if (!why.empty()) tell_bad_peer(arrival.peer_address_, why);
    arrivals_.erase(arrival.place_);
}

void Listener::complete(Arrival& arrival) {
    const Message& request = arrival.request_.message();
    if (request.sender.qp_type == IBV_QPT_UD && !manager_.datagrams()) {
        arrival.link_.send(encode_reject(arrival.request_.bytes(), arrival.request_.shape(),
                                         Operation::kManagerReject, {}));
        return drop(arrival, "it requests a datagram endpoint, which this device does not offer");
    }
    arrival.link_.unwatch();
    auto connection = std::make_unique<PassiveConnection>(manager_, std::move(arrival.link_),
                                                          arrival.peer_address_, arrival.request_);
    const Message copy = request;
    trace_received(*connection, nullptr, cm::message::kRequest, copy.private_data_size);
    arrivals_.erase(arrival.place_);
    user_.request(std::move(connection), copy.given_private_data());
}

}  // namespace dapl::scm
