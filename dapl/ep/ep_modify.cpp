// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_ep_modify: checks and applies the change.
#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/delayed_ack.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ep_attributes.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {
namespace {

using support::MutexLock;

constexpr DAT_EP_PARAM_MASK kUnchangeable =
    DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_COMM |
    DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |
    DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL;

/// Copies the members that the mask names.
void merge_attributes(DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR& from, DAT_EP_ATTR& to) {
    const auto take = [&](DAT_EP_PARAM_MASK bit, auto member) {
        if (mask & bit) to.*member = from.*member;
    };
    take(DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &DAT_EP_ATTR::service_type);
    take(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &DAT_EP_ATTR::max_message_size);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &DAT_EP_ATTR::max_rdma_size);
    take(DAT_EP_FIELD_EP_ATTR_QOS, &DAT_EP_ATTR::qos);
    take(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &DAT_EP_ATTR::recv_completion_flags);
    take(DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &DAT_EP_ATTR::request_completion_flags);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &DAT_EP_ATTR::max_recv_dtos);
    take(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &DAT_EP_ATTR::max_request_dtos);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &DAT_EP_ATTR::max_recv_iov);
    take(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &DAT_EP_ATTR::max_request_iov);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &DAT_EP_ATTR::max_rdma_read_in);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &DAT_EP_ATTR::max_rdma_read_out);
    take(DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &DAT_EP_ATTR::srq_soft_hw);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, &DAT_EP_ATTR::max_rdma_read_iov);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, &DAT_EP_ATTR::max_rdma_write_iov);
}

/// Gives a side that gets or loses its EVD the default sizes for that.
void follow_evds(const Ia& ia, const EpParts& before, const EpParts& after,
                 DAT_EP_ATTR& attributes) {
    const DAT_EP_ATTR standard = default_attributes(ia, after);
    if (!before.recv_evd != !after.recv_evd) {
        attributes.max_recv_dtos = standard.max_recv_dtos;
        attributes.max_recv_iov = standard.max_recv_iov;
    }
    if (!before.request_evd != !after.request_evd) {
        attributes.max_request_dtos = standard.max_request_dtos;
        attributes.max_request_iov = standard.max_request_iov;
    }
}

/// @return the value that delayed_ack is to have, or the code of dat_ep_modify.
support::Result<DelayedAck> plan_delayed_ack(const Ep& ep, DAT_EP_PARAM_MASK mask,
                                             const DAT_EP_ATTR& wanted, const DAT_EP_ATTR& settled)
    REQUIRES(connection_lock) {
    const bool changes = (mask & DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR) != 0;
    support::Result<DelayedAck> value = delayed_ack(ep.attributes);
    if (changes) value = wanted_delayed_ack(ep.ia, wanted);
    if (!value || *value == DelayedAck::kFalse) return value;
    if (ep.ud)
        return support::failure(error(DAT_MODEL_NOT_SUPPORTED), "datagrams are not acknowledged");
    if (slots_of_requests(settled, *value) >= ep.ia.device_attributes.max_qp_wr)
        return support::failure(bad_argument(3),
                                "the device does not allow twice as many requests");
    return value;
}

/// Checks a change. @return DAT_SUCCESS with the EP's new parts and attributes.
DAT_RETURN plan(Ep& ep, EpCall call, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM& wanted,
                EpParts& new_parts, DAT_EP_ATTR& new_attributes) EXCLUDES(connection_lock) {
    MutexLock lock(connection_lock);
    if (!is_legal(call, ep.state.get())) return state_error(ep.state.get());
    const auto handle = [mask](DAT_EP_PARAM_MASK bit, DAT_HANDLE changed, auto* present) {
        if (mask & bit) return changed;
        return present ? present->handle() : nullptr;
    };
    const auto parts = find_parts(
        ep.ia, handle(DAT_EP_FIELD_PZ_HANDLE, wanted.pz_handle, ep.parts.pz),
        handle(DAT_EP_FIELD_RECV_EVD_HANDLE, wanted.recv_evd_handle, ep.parts.recv_evd),
        handle(DAT_EP_FIELD_REQUEST_EVD_HANDLE, wanted.request_evd_handle, ep.parts.request_evd),
        handle(DAT_EP_FIELD_CONNECT_EVD_HANDLE, wanted.connect_evd_handle, ep.parts.connect_evd));
    if (!parts) return bad_argument(3);
    const DAT_SRQ_HANDLE srq = ep.shared ? ep.shared->srq.handle() : nullptr;
    if (mask & DAT_EP_FIELD_SRQ_HANDLE && wanted.srq_handle != srq) return bad_argument(3);
    DAT_EP_ATTR attributes = ep.attributes;
    follow_evds(ep.ia, ep.parts, *parts, attributes);
    merge_attributes(mask, wanted.ep_attr, attributes);
    if (attributes.recv_completion_flags & DAT_COMPLETION_SUPPRESS_FLAG)
        return raw(DAT_INVALID_PARAMETER);
    if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE &&
        attributes.service_type != (ep.ud ? kDatagramService : DAT_SERVICE_TYPE_RC))
        return bad_argument(3);
    const auto settled = settle_attributes(ep.ia, *parts, &attributes, ep.shared != nullptr);
    if (!settled) return bad_argument(3);
    const auto delayed = plan_delayed_ack(ep, mask, wanted.ep_attr, *settled);
    if (!delayed) return code_of(delayed);
    new_parts = *parts;
    new_attributes = *settled;
    set_delayed_ack(new_attributes, *delayed);
    return DAT_SUCCESS;
}

/// Sets the soft watermark of an EP with an SRQ; 0 means none, as in dat_ep_create_with_srq. The
/// hard watermark stays.
DAT_RETURN set_soft_watermark(Ep& ep, DAT_COUNT soft) EXCLUDES(connection_lock) {
    MutexLock lock(connection_lock);
    const DAT_RETURN code = ep.shared->set_watermarks(soft == 0 ? DAT_WATERMARK_INFINITE : soft,
                                                      ep.shared->hard_watermark());
    return code == DAT_SUCCESS ? kSuccess : bad_argument(3);
}

DAT_RETURN modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM* wanted) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (mask & kUnchangeable) return bad_argument(2);
    if (!wanted) return bad_argument(3);
    EpParts parts;
    DAT_EP_ATTR attributes;
    const EpCall call = mask & DAT_EP_FIELD_PZ_HANDLE ? EpCall::kModifyPz : EpCall::kModify;
    const DAT_RETURN refused = plan(*ep, call, mask, *wanted, parts, attributes);
    if (refused != DAT_SUCCESS) return refused;
    if (mask & DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW && ep->shared) {
        const DAT_RETURN bad = set_soft_watermark(*ep, attributes.srq_soft_hw);
        if (bad != DAT_SUCCESS) return bad;
    }
    return code_of(ep->modify(parts, attributes, call));
}

}  // namespace

namespace entry {

DAT_RETURN ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM* wanted) {
    return uncancelled([=](int) { return modify(ep, mask, wanted); });
}

}  // namespace entry
}  // namespace dapl
