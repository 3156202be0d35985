// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/connection.hpp"

#include <cstring>

#include "providers/ucm/manager.hpp"

namespace dapl::ucm {
namespace {

/// Sends before a peer whose address nobody tells is given up.
constexpr int kAddressTries = 4;

}  // namespace

Connection::Connection(Manager& manager, const sockaddr_storage& peer, const Dialog& dialog,
                       cm::User* user)
    : exchange::Side(peer, user, manager.port()), manager_(manager), dialog_(dialog) {
    manager_.service().enter(*this);
}

Connection::~Connection() {
    stop_sending();
    if (disconnecting_) disconnecting_->forget_waiter();
    if (state_ != State::kEnded) manager_.service().leave(*this);
}

std::uint16_t Connection::local_port() const {
    return static_cast<std::uint16_t>(dialog_.own_port());
}
std::uint16_t Connection::remote_port() const {
    return static_cast<std::uint16_t>(dialog_.peer_port());
}

void Connection::disconnect() {
    moving_.overtake();
    if (state_ == State::kEnded) return;
    stop_sending();
    if (state_ == State::kConnected) {
        state_ = State::kEnded;
        return send_disconnect();
    }
    give_up();
    // Reported by the event thread, because the caller has not finished with its own state.
    manager_.loop.arm(*this, Clock::now());
}

void Connection::send_disconnect() {
    trace_sent(*this, user_, cm::message::kDisconnect);
    disconnecting_ = &manager_.service().conclude(dialog_, Epilogue::Kind::kDisconnecting, this);
}

void Connection::is_down() {
    disconnecting_ = nullptr;
    user_->report(cm::Outcome::kDisconnected, {});
}

void Connection::take(const Message& message) {
    if (message.operation == Operation::kDisconnect && state_ == State::kConnected) {
        trace_received(*this, user_, cm::message::kDisconnect);
        send(dialog_.answer(Operation::kDisconnected));
        conclude(Epilogue::Kind::kOver);
        return ended(cm::Outcome::kDisconnected);
    }
    go_on(message);
}

void Connection::undeliverable(const Refusal& refusal) {
    if (state_ != State::kHandshake) return;
    if (refusal.timed_out && resends_.sends() < kAddressTries) return;
    unreachable(refusal.why);
}

void Connection::expired() {
    if (state_ == State::kEnded) {
        if (user_) user_->report(cm::Outcome::kDisconnected, {});
        return;
    }
    if (!resends_.again()) return unanswered();
    dialog_.last().retries = static_cast<std::uint8_t>(resends_.sends() - 1);
    send(dialog_.last());
    manager_.loop.arm(*this, resends_.due());
}

void Connection::offer(Operation operation, const OwnEnd& own, std::uint8_t mtu,
                       Timing::Milliseconds wait) {
    fill(dialog_.last(), operation, own, mtu);
    state_ = State::kHandshake;
    wait_ = wait;
}

void Connection::open() {
    resends_ = Resends(manager_.service().timing.sends, wait_);
    send(dialog_.last());
    manager_.loop.arm(*this, resends_.due());
}

void Connection::send(const Message& message) const {
    manager_.service().send(message, dialog_);
}

void Connection::stop_sending() {
    manager_.service().pace.leave(*this);
    manager_.loop.cancel(*this);
}

tl::expected<OwnEnd, std::string> Connection::own_end(const QpAddress& peer) const {
    ibv_gid gid;
    std::memcpy(&gid, peer.gid.data(), sizeof gid);
    return port_.own_end({}, &gid);
}

void Connection::established(cm::PrivateData data) {
    stop_sending();
    state_ = State::kConnected;
    if (own_.qp->qp_type == IBV_QPT_UD) conclude(Epilogue::Kind::kOver);
    user_->report(cm::Outcome::kEstablished, data);
}

void Connection::conclude(Epilogue::Kind kind) {
    stop_sending();
    state_ = State::kEnded;
    manager_.service().conclude(dialog_, kind);
}

void Connection::ended(cm::Outcome outcome, cm::PrivateData data) {
    stop_sending();
    if (state_ != State::kEnded) manager_.service().leave(*this);
    state_ = State::kEnded;
    user_->report(outcome, data);
}

}  // namespace dapl::ucm
