// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/passive.hpp"

#include <algorithm>

#include "dapl/base/codes.hpp"
#include "device/address.hpp"
#include "providers/ucm/manager.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {

PassiveConnection::PassiveConnection(Manager& manager, const Message& request, std::uint32_t id)
    : Connection(manager, to_socket_address(sender_of(request)), Dialog(request, id), nullptr),
      request_(request) {
    Message& message = dialog_.last();
    message.sender = manager.service().address();
    message.sender.qp_type = request.sender.qp_type;
}

PassiveConnection::~PassiveConnection() {
    if (state_ == State::kOpening) refuse(Operation::kManagerReject, {});
    if (state_ != State::kEnded) disconnect();
}

void PassiveConnection::refuse(Operation operation, cm::PrivateData data) {
    trace_sent(*this, user_, cm::message::kReject, data.size());
    Message& message = dialog_.last();
    message.operation = operation;
    message.private_data_size = std::min(data.size(), message.private_data.size());
    std::copy_n(data.begin(), message.private_data_size, message.private_data.begin());
    send(message);
    conclude(Epilogue::Kind::kRejected);
}

void PassiveConnection::reject(cm::PrivateData data) {
    refuse(Operation::kConsumerReject, data);
}

support::Result<void> PassiveConnection::accept(const cm::Parameters& parameters, cm::User& user) {
    if (parameters.qp->context != manager_.adapter().context)
        return support::failure(raw(DAT_INTERNAL_ERROR), "the EP is on another device");
    exchange::Side::take(parameters, exchange::kMaxPrivateData);
    user_ = &user;
    return {};
}

void PassiveConnection::answer() {
    const auto own = own_end(request_.sender);
    if (!own) return refuse_path(own.error());
    const std::uint8_t mtu = exchange::common_mtu(own->mtu, request_.mtu, port_.settings());
    const auto connected = connect(*own, request_, mtu);
    if (!connected || state_ == State::kEnded) return;
    if (!*connected) return refuse_path(connected->error());
    trace_sent(*this, user_, cm::message::kAccept, own_.private_data.size());
    offer(Operation::kReply, *own, mtu, manager_.service().timing.confirm);
    open();
}

void PassiveConnection::refuse_path(const std::string& cause) {
    tell_no_path(cause);
    refuse(Operation::kManagerReject, {});
    ended(cm::Outcome::kLocalFailure);
}

void PassiveConnection::go_on(const Message& message) {
    if (state_ != State::kHandshake) return;  // the consumer has not answered yet, or all is said
    switch (message.operation) {
        case Operation::kRequest:  // the peer has not got the reply
            return send(dialog_.last());
        case Operation::kReadyToUse:
            trace_received(*this, user_, cm::message::kConfirm);
            return established();
        case Operation::kDisconnect:
            send(dialog_.answer(Operation::kDisconnected));
            [[fallthrough]];
        case Operation::kManagerReject:
            support::trace(support::Level::kDebug, "{} has gone without confirming the connection",
                           to_text(peer_));
            return fail(Epilogue::Kind::kOver, cm::Outcome::kDisconnected);
        default:
            return;
    }
}

void PassiveConnection::unanswered() {
    support::trace(support::Level::kDebug, "{} has not confirmed the connection in {} tries",
                   to_text(peer_), resends_.sends());
    dialog_.say(Operation::kManagerReject);
    fail(Epilogue::Kind::kRejected, cm::Outcome::kUnreachable);
}

/// The peer may be connected already.
void PassiveConnection::give_up() {
    conclude(Epilogue::Kind::kDisconnecting);
}

void PassiveConnection::unreachable(const std::string& why) {
    tell_no_path(why);
    fail(Epilogue::Kind::kOver, cm::Outcome::kUnreachable);
}

void PassiveConnection::fail(Epilogue::Kind kind, cm::Outcome outcome) {
    conclude(kind);
    ended(outcome);
}

}  // namespace dapl::ucm
