// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ep_attributes.hpp"

#include <algorithm>
#include <cstdint>

#include "dapl/adapter/ia.hpp"
#include "dapl/ep/delayed_ack.hpp"

namespace dapl {
namespace {

constexpr DAT_SEG_LENGTH kDefaultSize = 0x80000000;
constexpr DAT_COUNT kDefaultTransfers = 16;
constexpr DAT_COUNT kDefaultSegments = 4;
constexpr DAT_COUNT kDefaultReads = 4;
constexpr DAT_RETURN kAboveAdapter = raw(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);

bool contradicts(const EpParts& parts, const DAT_EP_ATTR& asked) {
    if (!parts.recv_evd != (asked.max_recv_dtos == 0)) return true;
    if (!parts.request_evd != (asked.max_request_dtos == 0)) return true;
    if (parts.recv_evd && asked.max_recv_iov == 0) return true;
    if (!parts.request_evd && asked.max_request_iov != 0) return true;
    return (asked.recv_completion_flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0;
}

/// Returns whether something is missing that dat_ep_create_with_srq requires.
bool leaves_out(const EpParts& parts, const DAT_EP_ATTR& asked) {
    return !parts.request_evd || asked.max_recv_dtos == 0 || asked.max_request_dtos == 0 ||
           asked.max_recv_iov == 0 || asked.max_request_iov == 0 ||
           (asked.recv_completion_flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0;
}

bool exceeds(const Ia& ia, const DAT_EP_ATTR& asked) {
    const ibv_device_attr& device = ia.device_attributes;
    const DAT_SEG_LENGTH largest = ia.port_attributes.max_msg_sz;
    return asked.max_message_size > largest || asked.max_rdma_size > largest ||
           asked.max_recv_dtos > device.max_qp_wr || asked.max_request_dtos > device.max_qp_wr ||
           asked.max_recv_iov > device.max_sge || asked.max_request_iov > device.max_sge ||
           asked.max_rdma_read_in > device.max_qp_rd_atom ||
           asked.max_rdma_read_out > device.max_qp_init_rd_atom;
}

bool negative(const DAT_EP_ATTR& asked) {
    return std::min({asked.max_recv_dtos, asked.max_request_dtos, asked.max_recv_iov,
                     asked.max_request_iov, asked.max_rdma_read_in, asked.max_rdma_read_out}) < 0;
}

/// A datagram is one packet, and a datagram endpoint has no RDMA.
void limit_to_datagrams(const Ia& ia, DAT_EP_ATTR& attributes) {
    const DAT_SEG_LENGTH largest = ia.datagram_size();
    if (attributes.max_message_size == 0 || attributes.max_message_size > largest)
        attributes.max_message_size = largest;
    attributes.max_rdma_size = 0;
    attributes.max_rdma_read_in = attributes.max_rdma_read_out = 0;
}

template <class T>
void default_if_zero(T& value, T standard) {
    if (value == 0) value = standard;
}

/// @return the EVD behind a handle, if it can serve an EP of this adapter instance; else nullptr.
Evd* usable_evd(const Ia& ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream) {
    Evd* evd = from_handle<Evd>(handle);
    return evd && evd->takes(stream) && &evd->ia == &ia ? evd : nullptr;
}

}  // namespace

support::Result<EpParts> find_parts(const Ia& ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd) {
    EpParts parts{};
    parts.pz = from_handle<Pz>(pz);
    if (pz && (!parts.pz || &parts.pz->ia != &ia))
        return support::failure(bad_handle(DAT_INVALID_HANDLE_PZ));
    parts.connect_evd = usable_evd(ia, connect_evd, DAT_EVD_CONNECTION_FLAG);
    if (connect_evd && !parts.connect_evd)
        return support::failure(bad_handle(DAT_INVALID_HANDLE_EVD_CONN));
    parts.recv_evd = usable_evd(ia, recv_evd, DAT_EVD_DTO_FLAG);
    if (recv_evd && !parts.recv_evd)
        return support::failure(bad_handle(DAT_INVALID_HANDLE_EVD_RECV));
    parts.request_evd = usable_evd(ia, request_evd, DAT_EVD_DTO_FLAG);
    if (request_evd && !parts.request_evd)
        return support::failure(bad_handle(DAT_INVALID_HANDLE_EVD_REQUEST));
    return parts;
}

/// A side without an EVD gets zero transfers, so that a consumer can pass the defaults back to
/// dat_ep_create.
DAT_EP_ATTR default_attributes(const Ia& ia, const EpParts& parts, DAT_SERVICE_TYPE service) {
    const ibv_device_attr& device = ia.device_attributes;
    const DAT_SEG_LENGTH size = std::min(kDefaultSize, ia.port_attributes.max_msg_sz);
    const auto cut = [](DAT_COUNT wanted, int limit) { return std::min(wanted, limit); };
    DAT_EP_ATTR attributes{};
    attributes.service_type = service;
    attributes.max_message_size = size;
    attributes.max_rdma_size = size;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
    attributes.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
    if (parts.recv_evd) {
        attributes.max_recv_dtos = cut(kDefaultTransfers, device.max_qp_wr);
        attributes.max_recv_iov = cut(kDefaultSegments, device.max_sge);
    }
    if (parts.request_evd) {
        attributes.max_request_dtos = cut(kDefaultTransfers, device.max_qp_wr);
        attributes.max_request_iov = cut(kDefaultSegments, device.max_sge);
    }
    attributes.max_rdma_read_in = cut(kDefaultReads, device.max_qp_rd_atom);
    attributes.max_rdma_read_out = cut(kDefaultReads, device.max_qp_init_rd_atom);
    set_delayed_ack(attributes, DelayedAck::kFalse);
    if (service == kDatagramService) limit_to_datagrams(ia, attributes);
    return attributes;
}

support::Result<DAT_EP_ATTR> settle_attributes(const Ia& ia, const EpParts& parts,
                                               const DAT_EP_ATTR* asked, bool with_srq) {
    if (with_srq && !parts.recv_evd)
        return support::failure(kAboveAdapter, "the endpoint has no EVD for the SRQ's receives");
    const DAT_EP_ATTR standard = default_attributes(ia, parts);
    if (!asked) return standard;
    if (reinterpret_cast<std::uintptr_t>(asked) % alignof(DAT_EP_ATTR) != 0)
        return support::failure(bad_argument(6), "the attributes are misaligned");
    if (with_srq && leaves_out(parts, *asked))
        return support::failure(kAboveAdapter, "the attributes leave out what an SRQ needs");
    if (!with_srq && contradicts(parts, *asked))
        return support::failure(bad_argument(6), "the attributes contradict the EVDs");
    if (exceeds(ia, *asked))
        return support::failure(kAboveAdapter, "the attributes exceed the adapter");
    const bool is_datagram = asked->service_type == kDatagramService;
    if (negative(*asked) || (is_datagram && !ia.manager->datagrams()))
        return support::failure(raw(DAT_INVALID_PARAMETER), "the device has no such queue pair");
    DAT_EP_ATTR settled = *asked;
    // The attribute arrays belong to the consumer, and the pointers to them may be invalid:
    // programs leave these members uninitialised. The one attribute in them, delayed_ack, is set
    // through dat_ep_modify.
    settled.ep_transport_specific_count = 0;
    settled.ep_transport_specific = nullptr;
    set_delayed_ack(settled, DelayedAck::kFalse);
    default_if_zero(settled.max_request_iov, standard.max_request_iov);
    if (is_datagram) {
        limit_to_datagrams(ia, settled);
        return settled;
    }
    default_if_zero(settled.max_message_size, standard.max_message_size);
    default_if_zero(settled.max_rdma_size, standard.max_rdma_size);
    default_if_zero(settled.max_rdma_read_in, standard.max_rdma_read_in);
    default_if_zero(settled.max_rdma_read_out, standard.max_rdma_read_out);
    return settled;
}

}  // namespace dapl
