// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/connection.hpp"

#include <netinet/in.h>

#include "device/address.hpp"
#include "providers/cma/queue_pair.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dapl::cma {
namespace {

/// On InfiniBand 7 means without limit: a message that finds no receive posted waits for one.
constexpr std::uint8_t kReceiverNotReadyRetries = 7;

}  // namespace

rdma_conn_param Connection::parameters() const {
    rdma_conn_param result{};
    result.private_data = own_.private_data.data();
    result.private_data_len = static_cast<std::uint8_t>(own_.private_data.size());
    result.responder_resources = own_.responder_resources;
    result.initiator_depth = own_.initiator_depth;
    result.flow_control = 1;
    result.retry_count =
        static_cast<std::uint8_t>(setting_integer(support::Setting::kAckRetries, manager_.ia_name));
    result.rnr_retry_count = kReceiverNotReadyRetries;
    result.qp_num = own_.qp->qp_num;
    result.srq = own_.qp->srq != nullptr;
    return result;
}

void Connection::lend_queue_pair() {
    if (!manager_.is_infiniband()) id_->qp = own_.qp;
}

void Connection::disconnect() {
    moving_.overtake();
    if (own_.qp && !id_->qp) set_error_state(own_.qp);
    trace_sent(*this, user_, cm::message::kDisconnect);
    rdma_disconnect(id_.get());
}

std::uint16_t Connection::local_port() const {
    return ntohs(rdma_get_src_port(id_.get()));
}
std::uint16_t Connection::remote_port() const {
    return ntohs(rdma_get_dst_port(id_.get()));
}

void Connection::handle(const Event& event) {
    switch (event.type) {
        case RDMA_CM_EVENT_REJECTED:
            received(cm::message::kReject, event);
            return rejected(event);
        case RDMA_CM_EVENT_UNREACHABLE:
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return not_made(cm::Outcome::kUnreachable, to_text(event));
        case RDMA_CM_EVENT_DISCONNECTED:
            received(cm::message::kDisconnect, event);
            rdma_disconnect(id_.get());  // the reply that the peer waits for
            return report(cm::Outcome::kDisconnected);
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return report(cm::Outcome::kLocalFailure);
        default:
            return;  // TIMEWAIT_EXIT and the like change nothing for the EP
    }
}

void Connection::rejected(const Event& event) {
    support::trace(support::Level::kDebug, "connection with {}: {}", dapl::to_text(peer_),
                   to_text(event));
    // The kernel rejects on behalf of a peer that ended before it learned that its answer had
    // arrived.
    if (state_ == State::kConnected) return report(cm::Outcome::kDisconnected);
    if (state_ == State::kEnded) return;
    if (!event.data.has_reject_header())
        return not_made(cm::Outcome::kNonPeerRejected, to_text(event), event.data.all());
    report(
        cm::Outcome::kPeerRejected,
        event.data.behind_reject_header(manager_.is_infiniband() ? kInfiniBandFields.reject : 0));
}

/// Whether the queue pair is connected or not, for its EP the connection has failed or is broken.
void Connection::give_up() {
    if (state_ == State::kEnded) return;
    report(state_ == State::kConnected ? cm::Outcome::kDisconnected : cm::Outcome::kLocalFailure);
}

void Connection::not_made(cm::Outcome outcome, const std::string&, cm::PrivateData data) {
    report(outcome, data);
}

void Connection::report(cm::Outcome outcome, cm::PrivateData data) {
    state_ = outcome == cm::Outcome::kEstablished ? State::kConnected : State::kEnded;
    if (user_) user_->report(outcome, data);
}

}  // namespace dapl::cma
