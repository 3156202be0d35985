// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/passive.hpp"

#include <cstring>

#include "dapl/base/codes.hpp"
#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/sockets/bad_peer.hpp"
#include "support/log/log.hpp"

namespace dapl::sockets {

PassiveConnection::PassiveConnection(Host& host, Link link, const sockaddr_storage& peer,
                                     const Reader& request)
    : Connection(host, std::move(link), peer, nullptr), request_(request) {
    link_.unwatch();  // the arrival's; accept() begins anew
}

PassiveConnection::~PassiveConnection() {
    host_.accepted.leave(*this);
    if (!is_answered_) refuse(Operation::kManagerReject, {});
}

void PassiveConnection::refuse(Operation operation, cm::PrivateData data) {
    is_answered_ = true;
    trace_sent(*this, user_, cm::message::kReject, data.size());
    link_.send(encode_reject(request_.bytes(), request_.shape(), operation, data));
    link_.settle();
}

void PassiveConnection::reject(cm::PrivateData data) {
    refuse(Operation::kConsumerReject, data);
}

support::Result<void> PassiveConnection::accept(const cm::Parameters& parameters, cm::User& user) {
    if (parameters.qp->context != host_.adapter.context)
        return support::failure(raw(DAT_INTERNAL_ERROR), "the EP is on another device");
    take(parameters, kMaxPrivateData);
    user_ = &user;
    return {};
}

void PassiveConnection::answer() {
    if (link_.has_news()) {  // the peer has nothing to send now, so it is closing or gone
        support::trace(support::Level::kDebug, "{} has gone before it was accepted",
                       to_text(peer_));
        return ended(cm::Outcome::kDisconnected);
    }
    const Message& request = request_.message();
    ibv_gid peer_gid;
    std::memcpy(&peer_gid, request.sender.gid.data(), sizeof peer_gid);
    const auto own = port_.own_end(peer_, &peer_gid);
    if (!own) return refuse_path(own.error());
    const std::uint8_t mtu = exchange::common_mtu(own->mtu, request.mtu, port_.settings());
    const auto connected = connect(*own, request, mtu);
    if (!connected) return;
    if (!*connected) return refuse_path(connected->error());
    state_ = State::kHandshake;
    if (const int error = send_reply(*own, mtu)) {
        support::trace(support::Level::kDebug, "{} has gone before it was accepted: {}",
                       to_text(peer_), cm::text_of_error(error));
        ended(cm::Outcome::kDisconnected);
    }
}

void PassiveConnection::refuse_path(const std::string& cause) {
    tell_no_path(cause);
    refuse(Operation::kManagerReject, {});
    ended(cm::Outcome::kLocalFailure);
}

int PassiveConnection::send_reply(const OwnEnd& own, std::uint8_t mtu) {
    is_answered_ = true;
    const Bytes reply = encode(offer(Operation::kReply, own, mtu), request_.shape());
    if (!link_.watch(*this, cm::Interest::kRead)) return ENOMEM;
    trace_sent(*this, user_, cm::message::kAccept, own_.private_data.size());
    if (const int error = link_.send(reply)) return error;
    host_.accepted.enter(*this);
    return 0;
}

void PassiveConnection::go_on() {
    const int error = link_.continue_sending();
    const auto [state, cause] = error == 0
                                    ? link_.read(ready_to_use_)
                                    : Link::Reading{Link::State::kClosed, cm::text_of_error(error)};
    if (state == Link::State::kMore) return;
    host_.accepted.leave(*this);
    if (state == Link::State::kComplete && ready_to_use_.is_reject()) {
        trace_received(*this, user_, cm::message::kReject);
        link_.settle();
        return ended(cm::Outcome::kDisconnected);
    }
    if (state == Link::State::kComplete) {
        trace_received(*this, user_, cm::message::kConfirm);
        return established();
    }
    if (state == Link::State::kRefused)
        tell_bad_peer(peer_, "it has confirmed the connection with " + cause);
    else
        support::trace(support::Level::kDebug, "{} has gone without confirming the connection: {}",
                       to_text(peer_), cause);
    ended(cm::Outcome::kDisconnected);
}

void PassiveConnection::expelled(const std::string& why) {
    tell_bad_peer(peer_, "it has not confirmed the connection, and " + why);
    ended(cm::Outcome::kUnreachable);
}

}  // namespace dapl::sockets
