// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process's end of the tests of datagram endpoints.
#pragma once

#include <dat2/dat_ib_extensions.h>
#include <infiniband/verbs.h>

#include "test/api/side.hpp"

namespace test {

inline constexpr DAT_COUNT kRouteHeader = sizeof(ibv_grh);

inline DAT_IB_EXTENSION_EVENT_DATA extension_of(const DAT_EVENT& event) {
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memcpy(&extension, event.event_extension_data, sizeof extension);
    return extension;
}

inline std::string private_data_of(const DAT_EVENT& event) {
    const auto& data = event.event_data.connect_event_data;
    return {static_cast<const char*>(data.private_data),
            static_cast<std::size_t>(data.private_data_size)};
}

class UdSide : public Side {
  public:
    static DAT_EP_ATTR attributes_of_ep(DAT_COUNT transfers = 16) {
        DAT_EP_ATTR attributes{};
        attributes.service_type = static_cast<DAT_SERVICE_TYPE>(DAT_IB_SERVICE_TYPE_UD);
        attributes.max_recv_dtos = attributes.max_request_dtos = transfers;
        attributes.max_recv_iov = attributes.max_request_iov = 2;
        return attributes;
    }
    DAT_EP_HANDLE datagrams() const {
        const DAT_EP_ATTR attributes = attributes_of_ep();
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        succeed(dat_ep_create(ia, pz, receives, sends, connections, &attributes, &ep),
                "dat_ep_create");
        return ep;
    }
    DAT_CR_HANDLE datagram_request() const {
        const DAT_EVENT event =
            Side::wait(requests, static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_REQUEST_EVENT));
        require(extension_of(event).type == DAT_IB_UD_CONNECT_REQUEST, "the type of a request");
        return event.event_data.cr_arrival_event_data.cr_handle;
    }
    static DAT_RETURN accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, const std::string& data = {}) {
        return dat_cr_accept(cr, ep, static_cast<DAT_COUNT>(data.size()),
                             const_cast<char*>(data.data()));
    }
    DAT_EVENT outcome(DAT_IB_EVENT_NUMBER number, DAT_EP_HANDLE ep) const {
        return connection_event(static_cast<DAT_EVENT_NUMBER>(number), ep);
    }
    /// Expects that the next event gives the address of a peer.
    DAT_EVENT resolved(DAT_EP_HANDLE ep, DAT_IB_EXT_TYPE type = DAT_IB_UD_REMOTE_AH) const {
        const DAT_EVENT event = outcome(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, ep);
        const auto extension = extension_of(event);
        require(extension.type == type && extension.status == DAT_OP_SUCCESS, "the outcome's type");
        require(extension.remote_ah.ah && extension.remote_ah.qpn > 1, "there is an address");
        return event;
    }
    /// Asks for the address of the peer at this qualifier. @return the address.
    DAT_IB_ADDR_HANDLE ask(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier,
                           const std::string& data = {}) const {
        succeed(connect(ep, qualifier, data), "dat_ep_connect");
        return extension_of(resolved(ep)).remote_ah;
    }
    /// Answers the next request for an address. @return the address of the peer that asked.
    DAT_IB_ADDR_HANDLE answer(DAT_EP_HANDLE ep, const std::string& data = {}) const {
        succeed(accept(datagram_request(), ep, data), "dat_cr_accept");
        return extension_of(resolved(ep, DAT_IB_UD_PASSIVE_REMOTE_AH)).remote_ah;
    }
    static DAT_RETURN post(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET local, DAT_IB_ADDR_HANDLE to,
                           int flags = DAT_COMPLETION_DEFAULT_FLAG) {
        return dat_ib_post_send_ud(ep, 1, &local, &to, cookie(77),
                                   static_cast<DAT_COMPLETION_FLAGS>(flags));
    }
    /// Sends a text and polls its completion.
    void send(DAT_EP_HANDLE ep, Buffer& buffer, const std::string& text,
              const DAT_IB_ADDR_HANDLE& to) const {
        text.copy(buffer.bytes.data(), text.size());
        DAT_LMR_TRIPLET local = buffer.all();
        local.segment_length = static_cast<DAT_SEG_LENGTH>(text.size());
        succeed(post(ep, local, to), "dat_ib_post_send_ud");
        const DAT_EVENT event = Side::wait(sends, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
        const auto& dto = event.event_data.dto_completion_event_data;
        require(dto.ep_handle == ep && dto.user_cookie.as_64 == 77, "whose completion it is");
        require(dto.status == DAT_DTO_SUCCESS, "the message is sent");
        require(dto.operation == static_cast<DAT_DTOS>(DAT_IB_DTO_SEND_UD), "what it was");
        require(dto.transfered_length == text.size(), "how much it was");
        require(extension_of(event).type == DAT_IB_UD_SEND, "of what type");
    }
    static void post_receive(DAT_EP_HANDLE ep, const Buffer& buffer) {
        DAT_LMR_TRIPLET local = buffer.all();
        succeed(dat_ib_post_recv_ud(ep, 1, &local, cookie(5), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ib_post_recv_ud");
    }
    /// @return the text of the next message. @param from is set to the sender's queue pair number.
    std::string receive(DAT_EP_HANDLE ep, const Buffer& buffer, DAT_UINT32& from) const {
        const DAT_EVENT event =
            Side::wait(receives, static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT));
        const auto& dto = event.event_data.dto_completion_event_data;
        require(dto.ep_handle == ep && dto.user_cookie.as_64 == 5, "whose message it is");
        require(dto.status == DAT_DTO_SUCCESS, "it has come");
        require(dto.operation == static_cast<DAT_DTOS>(DAT_IB_DTO_RECV_UD), "as a datagram");
        require(extension_of(event).type == DAT_IB_UD_RECV, "of that type");
        from = extension_of(event).remote_ah.qpn;
        return buffer.bytes.substr(kRouteHeader, dto.transfered_length - kRouteHeader);
    }
};

}  // namespace test
