// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/active.hpp"

#include "dapl/cm/failure.hpp"

namespace dapl::sockets {

ActiveConnection::ActiveConnection(Host& host, Link link, const sockaddr_storage& peer,
                                   const cm::Parameters& parameters, cm::User& user)
    : Connection(host, std::move(link), peer, &user) {
    take(parameters, kMaxPrivateData);
}

support::Result<void> ActiveConnection::find_own_end() {
    const auto own = port_.own_end(peer_, nullptr);
    if (!own) {
        tell_no_path(own.error());
        return support::failure(raw(DAT_INTERNAL_ERROR), own.error());
    }
    own_end_ = *own;
    return {};
}

void ActiveConnection::send_request(Shape shape) {
    const Message request = [&]() REQUIRES(connection_lock) {
        Message message = offer(Operation::kRequest, own_end_, own_end_.mtu);
        if (shape == Shape::kOld) message.version = kOldVersion;
        return message;
    }();
    reader_ = Reader(Reader::Expected::kReply, shape);
    state_ = State::kHandshake;
    trace_sent(*this, user_, cm::message::kRequest, request.private_data_size);
    if (const int error = link_.send(encode(request, shape)))
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
    if (reply.operation != Operation::kReply) {
        link_.settle();
        return ended(reply.operation == Operation::kConsumerReject ? cm::Outcome::kPeerRejected
                                                                   : cm::Outcome::kNonPeerRejected,
                     data);
    }
    if (reply.sender.qp_type != own_.qp->qp_type) {
        tell_no_path("it has answered with a queue pair of another type");
        return ended(cm::Outcome::kLocalFailure);
    }
    if (!connect_queue_pair(reply)) return;
    // A peer that is gone by now is noticed as the end of the connection.
    trace_sent(*this, user_, cm::message::kConfirm);
    link_.send(encode_ready_to_use());
    established(data);
}

/// @return false if it has failed, which is reported, or if another thread has ended the
/// connection, which may be gone.
bool ActiveConnection::connect_queue_pair(const Message& reply) {
    const auto connected =
        connect(own_end_, reply, exchange::common_mtu(own_end_.mtu, reply.mtu, port_.settings()));
    if (!connected) return false;
    if (*connected) return true;
    tell_no_path(connected->error());
    if (link_.is_programs()) {
        link_.send(encode_late_reject());
        link_.settle();
    }
    ended(cm::Outcome::kLocalFailure);
    return false;
}

}  // namespace dapl::sockets
