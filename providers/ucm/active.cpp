// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/active.hpp"

#include "dapl/base/codes.hpp"
#include "device/address.hpp"
#include "providers/ucm/manager.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {
namespace {

constexpr const char* kWaiting = "waiting for the peer's answer";

/// @param address as the program has passed it. @return how it is repeated in the request.
exchange::AddressBytes asked_address(const sockaddr_storage& address) {
    QpAddress asked = from_socket_address(address);
    asked.qpn = 0;
    return encode(asked);
}

}  // namespace

ActiveConnection::ActiveConnection(Manager& manager, const sockaddr_storage& peer,
                                   std::uint16_t port, std::uint32_t id, cm::User& user)
    : Connection(manager, peer,
                 Dialog(manager.service().address().qpn, from_socket_address(peer), port, id),
                 &user) {
    dialog_.last().other_address = asked_address(peer);
}

ActiveConnection::~ActiveConnection() {
    moving_.overtake();
    if (state_ == State::kConnected) disconnect();
}

support::Result<void> ActiveConnection::start(const cm::Parameters& parameters) {
    exchange::Side::take(parameters, exchange::kMaxPrivateData);
    const auto own = own_end(dialog_.peer());
    if (!own) {
        tell_no_path(own.error());
        return support::failure(raw(DAT_INTERNAL_ERROR), own.error());
    }
    own_end_ = *own;
    trace_sent(*this, user_, cm::message::kRequest, own_.private_data.size());
    offer(Operation::kRequest, own_end_, own_end_.mtu, manager_.service().timing.reply);
    manager_.service().pace.enter(*this);
    return {};
}

void ActiveConnection::go_on(const Message& message) {
    if (state_ == State::kConnected) {
        // The peer has not got the confirmation.
        if (message.operation == Operation::kReply) confirm();
        return;
    }
    const auto data = message.given_private_data();
    switch (message.operation) {
        case Operation::kReply:
            trace_received(*this, user_, cm::message::kAccept, data.size());
            return take_reply(message);
        case Operation::kConsumerReject:
            trace_received(*this, user_, cm::message::kReject, data.size());
            return ended(cm::Outcome::kPeerRejected, data);
        case Operation::kManagerReject:
        case Operation::kDisconnect:
            trace_received(*this, user_, cm::message::kReject);
            cm::tell_refused(
                failed_try("nobody listens there, or the peer's connection manager "
                           "has rejected the request"));
            return ended(cm::Outcome::kNonPeerRejected);
        default:
            return;
    }
}

void ActiveConnection::take_reply(const Message& reply) {
    stop_sending();
    if (reply.sender.qp_type != own_.qp->qp_type) {
        tell_no_path("it has answered with a queue pair of another type");
        return ended(cm::Outcome::kLocalFailure);
    }
    dialog_.learn(reply);
    const Message copy = reply;
    if (own_.qp->qp_type == IBV_QPT_UD)
        keep_address(own_end_, reply);
    else if (!connect_queue_pair(copy))
        return;
    confirm();
    established(copy.given_private_data());
}

/// @return false if it has failed, which is reported, or if another thread has ended the
/// connection, which may be gone.
bool ActiveConnection::connect_queue_pair(const Message& reply) {
    const std::uint8_t mtu = exchange::common_mtu(own_end_.mtu, reply.mtu, port_.settings());
    const auto connected = connect(own_end_, reply, mtu);
    if (!connected) return false;
    dialog_.last().mtu = mtu;
    if (*connected) return true;
    tell_no_path(connected->error());
    send(dialog_.answer(Operation::kDisconnect));
    ended(cm::Outcome::kLocalFailure);
    return false;
}

void ActiveConnection::confirm() {
    trace_sent(*this, user_, cm::message::kConfirm);
    send(dialog_.answer(Operation::kReadyToUse));
}

void ActiveConnection::unanswered() {
    cm::tell_unreachable(failed_try("no answer"));
    ended(cm::Outcome::kUnreachable);
}

/// A peer that answers all the same is told that nobody waits any more.
void ActiveConnection::give_up() {
    manager_.service().leave(*this);
    state_ = State::kEnded;
}

void ActiveConnection::unreachable(const std::string& why) {
    cm::tell_unreachable(failed_try(why));
    ended(cm::Outcome::kUnreachable);
}

cm::Progress ActiveConnection::progress() const {
    return {kWaiting, resends_.sends()};
}

cm::FailedTry ActiveConnection::failed_try(const std::string& answer) const {
    return {manager_.adapter().address, peer_,           kWaiting, answer,
            resends_.sends(),           resends_.spent()};
}

}  // namespace dapl::ucm
