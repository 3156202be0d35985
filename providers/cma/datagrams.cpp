// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/datagrams.hpp"

#include <cerrno>

#include "dapl/cm/failure.hpp"
#include "support/log/log.hpp"

namespace dapl::cma {
namespace {

/// @return the address of every queue pair of the software device.
ibv_ah_attr own_way(ibv_context* context, std::uint8_t port) {
    ibv_port_attr attributes{};
    ibv_query_port(context, port, &attributes);
    ibv_ah_attr way{};
    way.dlid = attributes.lid;
    way.port_num = port;
    return way;
}

void set_private_data(rdma_conn_param& parameters, const DatagramBytes& message) {
    parameters.private_data = message.data();
    parameters.private_data_len = static_cast<std::uint8_t>(message.size());
}

}  // namespace

void ActiveDatagrams::send_request() {
    rdma_conn_param request = parameters();
    trace_sent(*this, user_, cm::message::kRequest, own_.private_data.size());
    const DatagramBytes message =
        encode({DatagramMessage::Kind::kRequest, own_.qp->qp_num, own_.private_data});
    set_private_data(request, message);
    requested(rdma_connect(id_.get(), &request) == 0 ? 0 : errno);
}

void ActiveDatagrams::handle(const Event& event) {
    switch (event.type) {
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
            return;
        case RDMA_CM_EVENT_ESTABLISHED:
            received(cm::message::kAccept, event);
            return answered(event);
        case RDMA_CM_EVENT_UNREACHABLE:
        case RDMA_CM_EVENT_CONNECT_ERROR:
            if (event.status > 0)  // the peer's own status
                return not_made(cm::Outcome::kNonPeerRejected, to_text(event));
            [[fallthrough]];
        default:
            return ActiveConnection::handle(event);
    }
}

/// rdma_cm's own rejection carries no data, so a consumer's rejection is an answer of kind kReject.
void ActiveDatagrams::answered(const Event& event) {
    const auto answer = decode(event.data.given());
    if (!answer || answer->kind == DatagramMessage::Kind::kRequest || event.qkey != kDatagramKey)
        return not_made(cm::Outcome::kUnreachable,
                        "the answer is not from a datagram endpoint of OpenDAT");
    if (answer->kind == DatagramMessage::Kind::kReject)
        return report(cm::Outcome::kPeerRejected, answer->data);
    datagram_address_ = {event.way, answer->qpn};
    report(cm::Outcome::kEstablished, answer->data);
}

PassiveDatagrams::PassiveDatagrams(const Manager& manager, const Event& request, std::uint32_t qpn)
    : PassiveConnection(manager, request) {
    datagram_address_ = {own_way(id_->verbs, id_->port_num), qpn};
}

int PassiveDatagrams::answer(DatagramMessage::Kind kind, cm::PrivateData data) {
    const std::uint32_t qpn = own_.qp ? own_.qp->qp_num : 0;
    const DatagramBytes message = encode({kind, qpn, data});
    rdma_conn_param parameters{};
    set_private_data(parameters, message);
    parameters.qp_num = qpn;
    return rdma_accept(id_.get(), &parameters) == 0 ? 0 : errno;
}

int PassiveDatagrams::send_accept() {
    const int error = answer(DatagramMessage::Kind::kAccept, own_.private_data);
    if (error == 0) report(cm::Outcome::kEstablished);
    return error;
}

void PassiveDatagrams::reject(cm::PrivateData data) {
    if (const int error = answer(DatagramMessage::Kind::kReject, data))
        support::trace(support::Level::kDebug, "rdma_accept: {}", cm::text_of_error(error));
}

}  // namespace dapl::cma
