// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/datagrams.hpp"

#include <cerrno>
#include <cstring>
#include <optional>

#include "dapl/cm/failure.hpp"
#include "support/log/log.hpp"

namespace dapl::cma {
namespace {

constexpr std::uint8_t kHops = 64;

PortAddress port_address(const ibv_port_attr& port, const std::optional<verbs::GidChoice>& gid) {
    PortAddress address;
    address.lid = port.lid;
    if (gid) std::memcpy(address.gid.data(), &gid->gid, address.gid.size());
    return address;
}

/// @return the address vector of the queue pairs behind a peer's port. @param own this side's GID.
ibv_ah_attr way_to(const PortAddress& peer, const cm::Adapter& adapter,
                   const std::optional<verbs::GidChoice>& own) {
    ibv_port_attr port{};
    ibv_query_port(adapter.context, adapter.port, &port);
    ibv_ah_attr way{};
    way.port_num = adapter.port;
    way.dlid = peer.lid;
    if (port.link_layer != IBV_LINK_LAYER_ETHERNET) return way;
    way.is_global = 1;
    std::memcpy(&way.grh.dgid, peer.gid.data(), peer.gid.size());
    way.grh.sgid_index = static_cast<std::uint8_t>(own ? own->index : 0);
    way.grh.hop_limit = kHops;
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
    ibv_port_attr port{};
    ibv_query_port(manager_.adapter().context, manager_.adapter().port, &port);
    const DatagramBytes message = encode({DatagramMessage::Kind::kRequest, own_.qp->qp_num,
                                          own_.private_data, port_address(port, manager_.gid())});
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

PassiveDatagrams::PassiveDatagrams(const Manager& manager, const Event& request, Id id,
                                   const DatagramMessage& asked)
    : PassiveConnection(manager, request, std::move(id)) {
    datagram_address_ = {way_to(asked.port, manager.adapter(), manager.gid()), asked.qpn};
}

int PassiveDatagrams::send(DatagramMessage::Kind kind, cm::PrivateData data) {
    const std::uint32_t qpn = own_.qp ? own_.qp->qp_num : 0;
    const DatagramBytes message = encode({kind, qpn, data, {}});
    rdma_conn_param parameters{};
    set_private_data(parameters, message);
    parameters.qp_num = qpn;
    return rdma_accept(id_.get(), &parameters) == 0 ? 0 : errno;
}

std::optional<int> PassiveDatagrams::send_accept() {
    const int error = send(DatagramMessage::Kind::kAccept, own_.private_data);
    if (error == 0) report(cm::Outcome::kEstablished);
    return error;
}

void PassiveDatagrams::reject(cm::PrivateData data) {
    if (const int error = send(DatagramMessage::Kind::kReject, data))
        support::trace(support::Level::kDebug, "rdma_accept: {}", cm::text_of_error(error));
}

}  // namespace dapl::cma
