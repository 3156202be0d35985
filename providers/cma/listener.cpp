// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/listener.hpp"

#include <netinet/in.h>

#include <cerrno>

#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/cma/datagrams.hpp"
#include "support/log/log.hpp"

namespace dapl::cma {

support::Result<void> Listener::start(std::uint16_t port) {
    auto id = listen(RDMA_PS_TCP, port);
    if (!id) return tl::unexpected(id.error());
    id_ = std::move(*id);
    if (!manager_.datagrams()) return {};
    // The port belongs to another program here, maybe. That must not take the connections away.
    if (auto datagram_id = listen(RDMA_PS_UDP, port))
        datagram_id_ = std::move(*datagram_id);
    else
        support::report<support::kNoDatagramRequests>(manager_.ia_name, port,
                                                      datagram_id.error().cause);
    return {};
}

support::Result<Id> Listener::listen(rdma_port_space space, std::uint16_t port) {
    auto id = manager_.make_id(*this, space);
    if (!id) return id;
    sockaddr_storage address = manager_.adapter().address;
    set_port(address, port);
    if (rdma_bind_addr(id->get(), reinterpret_cast<sockaddr*>(&address)) != 0)
        return cm::system_failure(errno, "rdma_bind_addr");
    if (rdma_listen(id->get(), 0) != 0) return cm::system_failure(errno, "rdma_listen");
    return id;
}

void Listener::handle(const Event& event) {
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
    Id id(event.id);  // what is destroyed without an answer rejects the request
    if (event.is_datagram) return datagrams_requested(event, std::move(id));
    hand_over(std::make_unique<PassiveConnection>(manager_, event, std::move(id)),
              event.data.all());
}

void Listener::datagrams_requested(const Event& event, Id id) {
    const auto request = decode(event.data.given());
    if (!request || request->kind != DatagramMessage::Kind::kRequest) {
        support::trace(
            support::Level::kDebug,
            "a request to resolve qualifier {} is not from a datagram endpoint of OpenDAT",
            ntohs(rdma_get_src_port(datagram_id_.get())));
        return;
    }
    hand_over(std::make_unique<PassiveDatagrams>(manager_, event, std::move(id), *request),
              request->data);
}

void Listener::hand_over(std::unique_ptr<cm::Connection> request, cm::PrivateData data) {
    trace_received(*request, nullptr, cm::message::kRequest, data.size());
    user_.request(std::move(request), data);
}

}  // namespace dapl::cma
