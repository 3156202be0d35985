// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/active.hpp"

#include <cerrno>
#include <cstring>

#include "dapl/adapter/refusal.hpp"
#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/scm/manager.hpp"
#include "support/log/log.hpp"

namespace dapl::scm {
namespace {

constexpr const char* kConnecting = "connecting";
constexpr int kTries = 5;
/// Doubled after each try. It is short because a listener that is about to be created, or
/// recreated, is there soon.
constexpr std::chrono::milliseconds kFirstPause{10};

/// Whether the system has connected a socket to itself.
bool is_same_end(const sockaddr_storage& one, const sockaddr_storage& other) {
    return same_host(one, other) && dapl::port_of(one) == dapl::port_of(other);
}

bool is_worth_another_try(int error) {
    return error == ETIMEDOUT || error == ECONNREFUSED;
}

bool is_about_the_peer(int error) {
    return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
           error == EADDRNOTAVAIL || error == EINVAL || error == EACCES || error == EPERM;
}

}  // namespace

ActiveConnection::ActiveConnection(Manager& manager, const sockaddr_in& peer,
                                   const cm::Parameters& parameters, cm::User& user)
    : Connection(manager, Link(manager.loop), ip_address(peer), &user) {
    take(parameters, kMaxPrivateData);
}

support::Result<void> ActiveConnection::start() {
    const auto own = port_.own_end(peer_, nullptr);
    if (!own) {
        tell_no_path(own.error());
        return support::failure(raw(DAT_INTERNAL_ERROR), own.error());
    }
    own_end_ = *own;
    const int error = try_once();
    if (error == 0) return {};
    if (is_worth_another_try(error)) {
        not_connected(error);
        return {};
    }
    if (!is_about_the_peer(error)) return refused_by_system(error, "a connection");
    cm::tell_unreachable(failed_try(error));
    return support::failure(raw(DAT_INVALID_ADDRESS), cm::text_of_error(error));
}

int ActiveConnection::try_once() {
    ++tries_;
    UniqueFd socket = make_socket();
    if (!socket.valid()) return errno;
    send_at_once(socket);
    if (const int error = manager_.bind_outgoing(socket.get())) return error;
    state_ = State::kOpening;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer_), sizeof(sockaddr_in)) !=
            0 &&
        errno != EINPROGRESS)
        return errno;
    link_.open(std::move(socket));
    return link_.watch(*this, cm::Interest::kReadWrite) ? 0 : ENOMEM;
}

void ActiveConnection::go_on() {
    if (state_ == State::kHandshake) return read_reply();
    if (const int error = link_.connect_result()) return not_connected(error);
    // If nobody listens there, the system may have chosen that very port for this end.
    if (is_same_end(link_.own_address(), peer_)) return not_connected(ECONNREFUSED);
    send_request();
}

void ActiveConnection::send_request() {
    const Message request = [&]() REQUIRES(connection_lock) {
        Message message = offer(Operation::kRequest, own_end_, own_end_.mtu);
        if (shape_ == Shape::kOld) message.version = kOldVersion;
        return message;
    }();
    reader_ = Reader(Reader::Expected::kReply, shape_);
    state_ = State::kHandshake;
    trace_sent(*this, user_, cm::message::kRequest, request.private_data_size);
    if (const int error = link_.send(encode(request, shape_)))
        not_answered(cm::text_of_error(error));
}

void ActiveConnection::read_reply() {
    if (const int error = link_.continue_sending()) return not_answered(cm::text_of_error(error));
    const auto [state, cause] = link_.read(reader_);
    switch (state) {
        case Link::State::kMore:
            return;
        case Link::State::kComplete:
            return take_reply();
        case Link::State::kClosed:
            return not_answered(cause);
        case Link::State::kRefused:
            tell_no_path("its answer has " + cause);
            return ended(cm::Outcome::kLocalFailure);
    }
}

void ActiveConnection::take_reply() {
    const Message& reply = reader_.message();
    const bool is_datagram = own_.qp->qp_type == IBV_QPT_UD;
    const auto data = is_datagram ? reply.given_private_data() : reply.whole_private_data();
    trace_received(
        *this, user_,
        reply.operation == Operation::kReply ? cm::message::kAccept : cm::message::kReject,
        reply.private_data_size);
    if (reply.operation == Operation::kConsumerReject)
        return ended(cm::Outcome::kPeerRejected, data);
    if (reply.operation != Operation::kReply) return ended(cm::Outcome::kNonPeerRejected, data);
    if (reply.sender.qp_type != own_.qp->qp_type) {
        tell_no_path("it has answered with a queue pair of another type");
        return ended(cm::Outcome::kLocalFailure);
    }
    if (is_datagram)
        keep_address(own_end_, reply);
    else if (!connect_queue_pair(reply))
        return;
    // A peer that is gone by now is noticed as the end of the connection.
    trace_sent(*this, user_, cm::message::kConfirm);
    link_.send(encode_ready_to_use());
    established(data);
}

/// @return false if it has failed, which is reported, or if another thread has ended the
/// connection, which may be gone.
bool ActiveConnection::connect_queue_pair(const Message& reply) {
    const Way way =
        way_to(own_end_, reply, exchange::common_mtu(own_end_.mtu, reply.mtu, port_.settings()));
    tl::expected<void, std::string> connected;
    if (!moving_.run([&] { connected = port_.connect(way); })) return false;
    if (connected) return true;
    tell_no_path(connected.error());
    ended(cm::Outcome::kLocalFailure);
    return false;
}

bool ActiveConnection::try_later() {
    link_.close();
    state_ = State::kOpening;
    if (tries_ >= kTries) return false;
    wait(kFirstPause * (1 << (tries_ - 1)));
    return true;
}

void ActiveConnection::waited() {
    if (const int error = try_once()) not_connected(error);
}

void ActiveConnection::not_connected(int error) {
    support::trace(support::Level::kDebug, "try {} to connect to {}: {}", tries_, to_text(peer_),
                   cm::text_of_error(error));
    if (is_worth_another_try(error) && try_later()) return;
    if (error == ECONNREFUSED) {
        cm::tell_refused(failed_try(error));
        return ended(cm::Outcome::kNonPeerRejected);
    }
    cm::tell_unreachable(failed_try(error));
    ended(cm::Outcome::kUnreachable);
}

cm::Progress ActiveConnection::progress() const {
    return {state_ == State::kOpening ? kConnecting : "waiting for the peer's answer", tries_};
}

cm::FailedTry ActiveConnection::failed_try(int error) const {
    return {manager_.adapter().address, peer_,  kConnecting,
            cm::text_of_error(error),   tries_, cm::Timer::Clock::now() - started_};
}

void ActiveConnection::not_answered(const std::string& cause) {
    support::trace(support::Level::kDebug,
                   "try {} to connect to {}, after {} bytes of an answer: {}", tries_,
                   to_text(peer_), reader_.size(), cause);
    shape_ = ++tries_without_answer_ == 1 ? Shape::kOld : Shape::kCurrent;
    if (try_later()) return;
    support::report<support::kPeerHangsUp>(to_text(peer_), tries_, cause);
    ended(cm::Outcome::kLocalFailure);
}

}  // namespace dapl::scm
