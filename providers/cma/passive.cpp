// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/passive.hpp"

#include <algorithm>
#include <cerrno>

#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/cma/queue_pair.hpp"
#include "support/log/log.hpp"

namespace dapl::cma {

PassiveConnection::PassiveConnection(const Manager& manager, const Event& request, Id id)
    : Connection(manager, ip_address(rdma_get_peer_addr(request.id)).value_or(sockaddr_storage{}),
                 nullptr, std::move(id)) {
    own_.responder_resources = request.responder_resources;
    own_.initiator_depth = request.initiator_depth;
    id_->context = static_cast<EventTarget*>(this);
}

support::Result<void> PassiveConnection::accept(const cm::Parameters& parameters, cm::User& user) {
    if (id_->verbs != parameters.qp->context || id_->port_num != manager_.adapter().port)
        return support::failure(raw(DAT_INTERNAL_ERROR),
                                "the request arrived on another device or port than the EP's");
    user_ = &user;
    // This side need not provide more than the peer asked for.
    cm::Parameters bounded = parameters;
    bounded.responder_resources =
        std::min(own_.responder_resources, parameters.responder_resources);
    bounded.initiator_depth = std::min(own_.initiator_depth, parameters.initiator_depth);
    take(bounded, kLargestGiven);
    return {};
}

void PassiveConnection::answer() {
    if (state_ == State::kEnded) return report(cm::Outcome::kDisconnected);  // the peer has gone
    trace_sent(*this, user_, cm::message::kAccept, own_.private_data.size());
    const int error = send_accept().value_or(0);
    if (error == 0) return;
    support::trace(support::Level::kDebug, "rdma_accept: {}", cm::text_of_error(error));
    report(cm::Outcome::kLocalFailure);
}

std::optional<int> PassiveConnection::send_accept() {
    lend_queue_pair();
    if (manager_.is_infiniband()) {
        rdma_cm_id* const id = id_.get();
        const QueuePairMove move{own_.qp,
                                 manager_.keeps_first_partition(),
                                 {{own_.responder_resources, own_.initiator_depth}}};
        int error = 0;
        if (!moving_.run([&] { error = make_ready(id, move); })) return std::nullopt;
        if (state_ == State::kEnded) return std::nullopt;
        if (error != 0) return error;
    }
    rdma_conn_param connection = parameters();
    return rdma_accept(id_.get(), &connection) == 0 ? 0 : errno;
}

void PassiveConnection::reject(cm::PrivateData data) {
    std::array<std::byte, kLargestGiven> message{};
    const std::size_t size = std::min(data.size(), message.size() - kRejectHeader.size());
    std::copy(kRejectHeader.begin(), kRejectHeader.end(), message.begin());
    std::copy_n(data.begin(), size, message.begin() + kRejectHeader.size());
    trace_sent(*this, user_, cm::message::kReject, size);
    if (rdma_reject(id_.get(), message.data(),
                    static_cast<std::uint8_t>(size + kRejectHeader.size())) != 0)
        support::trace(support::Level::kDebug, "rdma_reject: {}", cm::text_of_error(errno));
}

void PassiveConnection::handle(const Event& event) {
    if (event.type != RDMA_CM_EVENT_ESTABLISHED) return Connection::handle(event);
    received(cm::message::kConfirm, event);
    report(cm::Outcome::kEstablished, event.data.all());
}

}  // namespace dapl::cma
