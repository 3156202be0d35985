// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/connection.hpp"

#include <cstring>

#include "device/address.hpp"

namespace dapl::sockets {

Connection::Connection(Host& host, Link link, const sockaddr_storage& peer, cm::User* user)
    : exchange::Side(peer, user, host.port), host_(host), link_(std::move(link)) {}

Connection::~Connection() {
    host_.loop.cancel(*this);
}

std::uint16_t Connection::local_port() const {
    return link_.is_open() ? dapl::port_of(link_.own_address()) : 0;
}
std::uint16_t Connection::remote_port() const {
    return dapl::port_of(peer_);
}

void Connection::disconnect() {
    moving_.overtake();
    if (state_ == State::kEnded) return;
    // Should this message not get through, the receiver goes by the end of the stream. That is all
    // that a program's socket has, since the program can read there.
    if (state_ == State::kConnected) {
        trace_sent(*this, user_, cm::message::kDisconnect);
        if (!link_.is_programs()) link_.send(encode_disconnect());
    }
    link_.close();
    state_ = State::kEnded;
    // Reported by the event thread, because the caller has not finished with its own state.
    wait(Clock::duration::zero());
}

void Connection::ready() {
    if (state_ != State::kConnected) return go_on();
    if (link_.continue_sending() == 0 && !link_.has_news()) return;
    trace_received(*this, user_, cm::message::kDisconnect);
    ended(cm::Outcome::kDisconnected);
}

void Connection::expired() {
    if (state_ != State::kEnded) return waited();
    if (user_) user_->report(cm::Outcome::kDisconnected, {});
}

void Connection::wait(Clock::duration time) {
    host_.loop.arm(*this, Clock::now() + time);
}

Message Connection::offer(Operation operation, const OwnEnd& own, std::uint8_t mtu) const {
    Message message;
    fill(message, operation, own, mtu);
    message.sender.service_level = port_.settings().service_level;
    const sockaddr_storage& address = link_.own_address();
    std::memcpy(message.other_address.data(), &address, sizeof(sockaddr_in));
    return message;
}

void Connection::established(cm::PrivateData data) {
    state_ = State::kConnected;
    if (own_.qp->qp_type == IBV_QPT_UD) {
        link_.close();
        state_ = State::kEnded;
    }
    user_->report(cm::Outcome::kEstablished, data);
}

void Connection::ended(cm::Outcome outcome, cm::PrivateData data) {
    link_.close();
    state_ = State::kEnded;
    user_->report(outcome, data);
}

}  // namespace dapl::sockets
