// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest_ext/connection.hpp"

#include <cstring>

#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr DAT_COUNT kTransfers = 32;
constexpr double kConnectTimeoutUs = 60e6;

DAT_EP_ATTR ep_attributes(const Context& context) {
    DAT_EP_ATTR attributes{};
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.max_message_size = context.options.size;
    attributes.max_rdma_size = context.options.size;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.max_recv_dtos = kTransfers;
    attributes.max_request_dtos = kTransfers;
    attributes.max_recv_iov = 1;
    attributes.max_request_iov = 1;
    attributes.max_rdma_read_in = 4;
    attributes.max_rdma_read_out = 4;
    return attributes;
}

}  // namespace

Connection::Connection(const Context& context, bool shared) : context_(context) {
    const Device& device = context.device;
    request_evd_ = device.create_evd(DAT_EVD_DTO_FLAG, kTransfers);
    receive_evd_ = device.create_evd(DAT_EVD_DTO_FLAG, kTransfers);
    connection_evd_ = device.create_evd(DAT_EVD_CONNECTION_FLAG, 8);
    const DAT_EP_ATTR attributes = ep_attributes(context);
    if (!shared) {
        require_success(dat_ep_create(device.ia(), device.pz(), receive_evd_, request_evd_,
                                      connection_evd_, &attributes, &ep_),
                        "dat_ep_create", "use a smaller -b");
        return;
    }
    DAT_SRQ_ATTR queue{};
    queue.max_recv_dtos = kTransfers;
    queue.max_recv_iov = 1;
    queue.low_watermark = DAT_SRQ_LW_DEFAULT;
    require_success(dat_srq_create(device.ia(), device.pz(), &queue, &srq_), "dat_srq_create",
                    kFault);
    require_success(dat_ep_create_with_srq(device.ia(), device.pz(), receive_evd_, request_evd_,
                                           connection_evd_, srq_, &attributes, &ep_),
                    "dat_ep_create_with_srq", kFault);
}

Connection::~Connection() {
    if (ep_ != DAT_HANDLE_NULL) dat_ep_free(ep_);
    if (srq_ != DAT_HANDLE_NULL) dat_srq_free(srq_);
    for (const DAT_EVD_HANDLE evd : {request_evd_, receive_evd_, connection_evd_})
        if (evd != DAT_HANDLE_NULL) dat_evd_free(evd);
}

void Connection::release() {
    require_success(dat_ep_free(std::exchange(ep_, DAT_HANDLE_NULL)), "dat_ep_free", kFault);
    const DAT_SRQ_HANDLE srq = std::exchange(srq_, DAT_HANDLE_NULL);
    if (srq != DAT_HANDLE_NULL) require_success(dat_srq_free(srq), "dat_srq_free", kFault);
    for (DAT_EVD_HANDLE* evd : {&request_evd_, &receive_evd_, &connection_evd_})
        require_success(dat_evd_free(std::exchange(*evd, DAT_HANDLE_NULL)), "dat_evd_free", kFault);
}

void Connection::establish() {
    if (context_.options.server()) {
        const DAT_EVENT event = wait_event(context_, context_.device.requests(), "request");
        if (event.event_number != DAT_CONNECTION_REQUEST_EVENT) {
            throw Failure("request", event_name(event.event_number), "DAT_CONNECTION_REQUEST_EVENT",
                          kFault);
        }
        require_success(
            dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep_, 0, nullptr),
            "dat_cr_accept", "look at the client's messages");
    } else {
        sockaddr_storage address = context_.other.record().address();
        require_success(dat_ep_connect(ep_, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address),
                                       kConnQual, static_cast<DAT_TIMEOUT>(kConnectTimeoutUs), 0,
                                       nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                        "dat_ep_connect", "check that the server's address can be reached");
    }
    const DAT_EVENT event = wait_event(context_, connection_evd_, "connection event");
    tools::require_established(event.event_number, "connection");
}

void Connection::connect(unsigned receives) {
    for (unsigned slot = 0; slot < receives; ++slot) post_receive(slot);
    establish();
    tell(context_.device.target);
}

void Connection::close() {
    // The other side may still have transfers in progress.
    context_.other.exchange("end of the connection");
    if (!context_.options.server())
        require_success(dat_ep_disconnect(ep_, DAT_CLOSE_DEFAULT), "dat_ep_disconnect", kFault);
    const DAT_EVENT event = wait_event(context_, connection_evd_, "end of the connection");
    if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED) {
        throw Failure("dat_ep_disconnect", event_name(event.event_number),
                      "DAT_CONNECTION_EVENT_DISCONNECTED", "look at the other side's messages");
    }
    release();
}

void Connection::tell(const dtest::Region& region) {
    const Note theirs =
        context_.other.exchange("memory", {{}, {region.address(), region.rmr_context()}});
    remote_address_ = theirs.numbers[0];
    remote_context_ = static_cast<DAT_RMR_CONTEXT>(theirs.numbers[1]);
}

DAT_LMR_TRIPLET Connection::slot_segment(unsigned slot) const {
    const Device& device = context_.device;
    return device.receive.segment(slot * device.slot_bytes(), device.slot_bytes());
}

DAT_RMR_TRIPLET Connection::remote(std::size_t offset, std::size_t length) const {
    DAT_RMR_TRIPLET triplet{};
    triplet.virtual_address = remote_address_ + offset;
    triplet.segment_length = static_cast<DAT_SEG_LENGTH>(length);
    triplet.rmr_context = remote_context_;
    return triplet;
}

DAT_EVENT Connection::request_event(const char* what) const {
    return wait_event(context_, request_evd_, what);
}

DAT_EVENT Connection::receive_event(const char* what) const {
    return wait_event(context_, receive_evd_, what);
}

void Connection::post_receive(unsigned slot) {
    DAT_LMR_TRIPLET segment = slot_segment(slot);
    if (srq_ != DAT_HANDLE_NULL) {
        require_success(dat_srq_post_recv(srq_, 1, &segment, make_cookie(slot)),
                        "dat_srq_post_recv", kFault);
    } else {
        require_success(
            dat_ep_post_recv(ep_, 1, &segment, make_cookie(slot), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv", kFault);
    }
}

void Connection::send(std::uint32_t length, std::uint64_t cookie) {
    DAT_LMR_TRIPLET segment = context_.device.source.segment(0, length);
    require_success(
        dat_ep_post_send(ep_, 1, &segment, make_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_send", kFault);
    require_completion(request_event("completion of a send"), ep_, "completion of a send",
                       {cookie, length});
}

}  // namespace dtest_ext
