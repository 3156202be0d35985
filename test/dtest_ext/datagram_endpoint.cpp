// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest_ext/datagram_endpoint.hpp"

#include <cstdlib>
#include <cstring>

#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr DAT_COUNT kTransfers = 64;
constexpr double kConnectTimeoutUs = 60e6;
constexpr std::uint32_t kSmallestMtu = 256;

std::string text_of(const void* bytes, DAT_COUNT size) {
    return bytes && size > 0
               ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))
               : std::string();
}

/// Compares only as many bytes as were sent: some libraries also deliver the padding of their own
/// messages.
void require_text(const char* what, const std::string& found, const std::string& expected) {
    if (found.compare(0, expected.size(), expected) == 0) return;
    throw Failure(what, format("private data of %zu bytes, not as sent", found.size()),
                  "'" + expected + "'", kFault);
}

std::string number_name(DAT_EVENT_NUMBER number) {
    return format("event 0x%x", static_cast<unsigned>(number));
}

}  // namespace

DatagramEndpoint::DatagramEndpoint(const Context& context) : context_(&context) {
    const Device& device = context.device;
    request_evd_ = device.create_evd(DAT_EVD_DTO_FLAG, kTransfers);
    receive_evd_ = device.create_evd(DAT_EVD_DTO_FLAG, kTransfers);
    connection_evd_ = device.create_evd(DAT_EVD_CONNECTION_FLAG, kTransfers);
    DAT_EP_ATTR attributes{};
    attributes.service_type = static_cast<DAT_SERVICE_TYPE>(DAT_IB_SERVICE_TYPE_UD);
    attributes.max_message_size = datagram_size(context);
    attributes.max_recv_dtos = attributes.max_request_dtos = kTransfers;
    attributes.max_recv_iov = attributes.max_request_iov = 1;
    require_success(dat_ep_create(device.ia(), device.pz(), receive_evd_, request_evd_,
                                  connection_evd_, &attributes, &ep_),
                    "dat_ep_create of a datagram endpoint", kFault);
}

DatagramEndpoint::DatagramEndpoint(DatagramEndpoint&& other) noexcept
    : context_(other.context_),
      request_evd_(std::exchange(other.request_evd_, DAT_HANDLE_NULL)),
      receive_evd_(std::exchange(other.receive_evd_, DAT_HANDLE_NULL)),
      connection_evd_(std::exchange(other.connection_evd_, DAT_HANDLE_NULL)),
      ep_(std::exchange(other.ep_, DAT_HANDLE_NULL)) {}

DatagramEndpoint::~DatagramEndpoint() {
    if (ep_ != DAT_HANDLE_NULL) dat_ep_free(ep_);
    for (const DAT_EVD_HANDLE evd : {request_evd_, receive_evd_, connection_evd_})
        if (evd != DAT_HANDLE_NULL) dat_evd_free(evd);
}

void DatagramEndpoint::close() {
    require_success(dat_ep_free(std::exchange(ep_, DAT_HANDLE_NULL)), "dat_ep_free", kFault);
    for (DAT_EVD_HANDLE* evd : {&request_evd_, &receive_evd_, &connection_evd_})
        require_success(dat_evd_free(std::exchange(*evd, DAT_HANDLE_NULL)), "dat_evd_free", kFault);
}

void DatagramEndpoint::ask(const std::string& text) const {
    sockaddr_storage address = context_->other.record().address();
    std::string data = text;
    require_success(dat_ep_connect(ep_, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address), kConnQual,
                                   static_cast<DAT_TIMEOUT>(kConnectTimeoutUs),
                                   static_cast<DAT_COUNT>(data.size()), data.data(),
                                   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                    "dat_ep_connect of a datagram endpoint",
                    "check that the server's address can be reached");
}

DAT_EVENT DatagramEndpoint::outcome(DAT_IB_EVENT_NUMBER number, const std::string& text) const {
    const DAT_EVENT event = wait_event(*context_, connection_evd_, "answer to a datagram request");
    if (event.event_number != static_cast<DAT_EVENT_NUMBER>(number)) {
        throw Failure("answer to a datagram request", number_name(event.event_number),
                      number_name(static_cast<DAT_EVENT_NUMBER>(number)),
                      "look at the other side's messages");
    }
    const auto& data = event.event_data.connect_event_data;
    if (data.ep_handle != ep_)
        throw Failure("answer to a datagram request", "another endpoint's", "its own", kFault);
    require_text("answer to a datagram request", text_of(data.private_data, data.private_data_size),
                 text);
    return event;
}

PeerAddress DatagramEndpoint::answer(DAT_IB_EXT_TYPE type, const std::string& text) const {
    const DAT_EVENT event = outcome(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, text);
    const DAT_IB_EXTENSION_EVENT_DATA extension = extension_of(event);
    if (extension.type != type || extension.remote_ah.ah == nullptr ||
        extension.remote_ah.qpn == 0) {
        throw Failure("DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED",
                      format("type %d, %s, queue pair %u", extension.type,
                             extension.remote_ah.ah ? "an address handle" : "no address handle",
                             extension.remote_ah.qpn),
                      format("type %d, an address handle and a queue pair", type), kFault);
    }
    return {extension.remote_ah, extension.context};
}

void DatagramEndpoint::refusal(const std::string& text) const {
    const DAT_EVENT event = outcome(DAT_IB_UD_CONNECTION_REJECT_EVENT, text);
    if (!context_->device.has_additions()) return;
    const int type = extension_of(event).type;
    if (type != DAT_IB_UD_CONNECT_REJECT) {
        throw Failure("DAT_IB_UD_CONNECTION_REJECT_EVENT", format("type %d", type),
                      format("type %d", DAT_IB_UD_CONNECT_REJECT), kFault);
    }
}

void DatagramEndpoint::post_receive(unsigned slot) const {
    const Device& device = context_->device;
    mark(device.slot(slot), device.slot_bytes());
    DAT_LMR_TRIPLET segment =
        device.receive.segment(slot * device.slot_bytes(), device.slot_bytes());
    require_success(
        dat_ib_post_recv_ud(ep_, 1, &segment, make_cookie(slot), DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ib_post_recv_ud", kFault);
}

DAT_RETURN DatagramEndpoint::post(DAT_IB_ADDR_HANDLE to, std::uint32_t size, unsigned index) const {
    DAT_LMR_TRIPLET segment = context_->device.source.segment(0, size);
    return dat_ib_post_send_ud(ep_, 1, &segment, &to, make_cookie(index),
                               DAT_COMPLETION_DEFAULT_FLAG);
}

void DatagramEndpoint::send(const PeerAddress& to, std::uint32_t size, unsigned index) const {
    fill(*context_, context_->device.source.at(0), size, index);
    require_success(post(to.address, size, index), "dat_ib_post_send_ud", kFault);
    const char* what = "completion of a datagram";
    require_completion(wait_event(*context_, request_evd_, what), ep_, what,
                       {index, size, DAT_IB_DTO_SEND_UD, DAT_IB_UD_SEND});
}

void DatagramEndpoint::receive(const PeerAddress& from, std::uint32_t size, unsigned index,
                               unsigned slot) const {
    const char* what = "datagram received";
    const DAT_EVENT event = wait_event(*context_, receive_evd_, what);
    require_completion(event, ep_, what,
                       {slot, static_cast<std::uint32_t>(size + kRouteHeader), DAT_IB_DTO_RECV_UD,
                        DAT_IB_UD_RECV});
    require_bytes(*context_, context_->device.slot(slot) + kRouteHeader, size, index, what);
    const DAT_UINT32 sender = extension_of(event).remote_ah.qpn;
    if (context_->device.has_additions() && sender != from.address.qpn) {
        throw Failure(what, format("from queue pair %u", sender), format("%u", from.address.qpn),
                      kFault);
    }
}

DAT_CR_HANDLE datagram_request(const Context& context, const std::string& text) {
    const DAT_EVENT event = wait_event(context, context.device.requests(), "datagram request");
    const int type = extension_of(event).type;
    if (event.event_number != static_cast<DAT_EVENT_NUMBER>(DAT_IB_UD_CONNECTION_REQUEST_EVENT) ||
        type != DAT_IB_UD_CONNECT_REQUEST) {
        throw Failure(
            "datagram request", number_name(event.event_number) + format(", type %d", type),
            "DAT_IB_UD_CONNECTION_REQUEST_EVENT, type 5", "look at the client's messages");
    }
    const DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
    DAT_CR_PARAM parameters{};
    require_success(dat_cr_query(request, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query", kFault);
    require_text("datagram request", text_of(parameters.private_data, parameters.private_data_size),
                 text);
    return request;
}

std::uint32_t datagram_size(const Context& context) {
    const auto mtu = context.device.named().find("DAT_IB_TRANSPORT_MTU");
    const std::uint32_t limit =
        mtu == context.device.named().end()
            ? kSmallestMtu
            : static_cast<std::uint32_t>(std::strtoul(mtu->second.c_str(), nullptr, 10));
    return std::min(context.options.size, std::max(limit, kSmallestMtu));
}

}  // namespace dtest_ext
