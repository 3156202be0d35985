// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ud_endpoint.hpp"

#include <algorithm>
#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/events.hpp"
#include "device/address.hpp"

namespace dapl {

DAT_RETURN UdEndpoint::connect(const sockaddr* peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                               cm::PrivateData data) {
    const sockaddr_storage address = peer_address(peer, ep_.ia.adapter().address);
    const std::uint64_t number = ++last_number_;
    UdExchange& exchange = exchanges_.try_emplace(number, ep_, number).first->second;
    const DAT_RETURN code = exchange.connect(address, conn_qual, timeout, data);
    if (code != DAT_SUCCESS) {
        exchanges_.erase(number);
        return code;
    }
    ep_.connection.remote_address = address;
    ep_.connection.remote_port_qual = conn_qual;
    return DAT_SUCCESS;
}

DAT_RETURN UdEndpoint::accept(std::unique_ptr<cm::Connection>& request, cm::PrivateData asked,
                              cm::PrivateData data) {
    const std::uint64_t number = ++last_number_;
    UdExchange& exchange = exchanges_.try_emplace(number, ep_, number).first->second;
    const DAT_RETURN code = exchange.accept(request, asked, data);
    if (code != DAT_SUCCESS) exchanges_.erase(number);
    return code;
}

bool UdEndpoint::is_exchanging() const {
    return std::any_of(exchanges_.begin(), exchanges_.end(),
                       [](const auto& entry)
                           NO_THREAD_SAFETY_ANALYSIS { return !entry.second.is_over(); });
}

bool UdEndpoint::forget_exchange(std::uint64_t number) {
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end() || !found->second.is_over()) return false;
    exchanges_.erase(found);
    return true;
}

ibv_ah* UdEndpoint::add_address(ibv_ah_attr& way) {
    verbs::AddressHandle made(ibv_create_ah(ep_.parts.pz->domain.get(), &way));
    if (!made) return nullptr;
    ibv_ah* address = made.get();
    addresses_.emplace(address, std::move(made));
    return address;
}

bool UdEndpoint::free_address(const ibv_ah* address) {
    return addresses_.erase(address) > 0;
}

void UdEndpoint::failed() {
    if (is_broken_ || !ep_.queue_pair()) return;
    ibv_qp_attr now{};
    ibv_qp_init_attr made{};
    if (ibv_query_qp(ep_.queue_pair(), &now, IBV_QP_STATE, &made) == 0 &&
        now.qp_state == IBV_QPS_RTS)
        return;
    is_broken_ = true;
    if (!ep_.parts.connect_evd) return;
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memset(&extension, 0, sizeof extension);
    extension.type = DAT_IB_UD_CONNECT_ERROR;
    extension.status = DAT_IB_OP_ERR;
    post_datagram_event(*ep_.parts.connect_evd, DAT_IB_UD_CONNECTION_ERROR_EVENT, ep_.handle(), 0,
                        nullptr, extension);
}

int start_datagrams(const cm::DatagramService& service, std::uint8_t port, ibv_qp* queue_pair) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port;
    attributes.pkey_index = service.p_key_index;
    attributes.qkey = service.queue_key;
    if (const int refused = ibv_modify_qp(
            queue_pair, &attributes, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY))
        return refused;
    attributes = {};
    attributes.qp_state = IBV_QPS_RTR;
    if (const int refused = ibv_modify_qp(queue_pair, &attributes, IBV_QP_STATE)) return refused;
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 1;
    return ibv_modify_qp(queue_pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

}  // namespace dapl
