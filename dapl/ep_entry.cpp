// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "dapl/csp.hpp"
#include "dapl/entry.hpp"
#include "dapl/ep.hpp"
#include "dapl/ep_attributes.hpp"
#include "dapl/events.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"

namespace dapl {
namespace {

using support::MutexLock;

/// The EVD behind a handle if it can serve an EP of this adapter instance.
Evd* usable_evd(const Ia& ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream) {
    Evd* evd = from_handle<Evd>(handle);
    return evd && evd->takes(stream) && &evd->ia == &ia ? evd : nullptr;
}

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

support::Result<Ep*> make_ep(Ia& ia, const EpParts& parts, const DAT_EP_ATTR& attributes,
                             Srq* srq = nullptr) {
    Ep* ep = make<Ep>(&ia.provider.table, ia, srq);
    const support::Result<void> renewed = ep->renew(parts, attributes, EpCall::kModifyPz);
    if (!renewed) {
        destroy(*ep);
        return tl::unexpected(renewed.error());
    }
    MutexLock lock(connection_lock);
    ia.eps.add(*ep);
    return ep;
}

DAT_RETURN create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                  DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR* asked,
                  DAT_EP_HANDLE* handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    const auto parts = find_parts(*ia, pz, recv_evd, request_evd, connect_evd);
    if (!parts) return code_of(parts);
    if (!handle) return bad_argument(7);
    const auto attributes = settle_attributes(*ia, *parts, asked);
    if (!attributes) return code_of(attributes);
    const auto ep = make_ep(*ia, *parts, *attributes);
    if (ep) *handle = (*ep)->handle();
    return code_of(ep);
}

struct WithSrq {
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;
    DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
    DAT_SRQ_HANDLE srq;
    const DAT_EP_ATTR* attributes;
    DAT_EP_HANDLE* ep;
};

DAT_RETURN create_with_srq(const WithSrq& with) {
    Ia* ia = from_handle<Ia>(with.ia);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    const auto parts = find_parts(*ia, with.pz, with.recv_evd, with.request_evd, with.connect_evd);
    if (!parts) return code_of(parts);
    Srq* srq = from_handle<Srq>(with.srq);
    if (!srq || &srq->ia != ia) return bad_handle(DAT_INVALID_HANDLE_SRQ);
    if (srq->state() == DAT_SRQ_STATE_ERROR)
        return error(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
    if (!with.ep) return bad_argument(8);
    const auto attributes = settle_attributes(*ia, *parts, with.attributes, true);
    if (!attributes) return code_of(attributes);
    const auto ep = make_ep(*ia, *parts, *attributes, srq);
    if (!ep) return code_of(ep);
    MutexLock lock(connection_lock);
    if (attributes->srq_soft_hw > 0)
        (*ep)->shared->set_watermarks(attributes->srq_soft_hw, DAT_HW_DEFAULT);
    *with.ep = (*ep)->handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_EP_HANDLE handle) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    {
        MutexLock lock(connection_lock);
        const DAT_EP_STATE state = ep->state.get();
        if (!is_legal(EpCall::kFree, state)) return state_error(state);
    }
    destroy_ep(*ep);
    return DAT_SUCCESS;
}

DAT_RETURN reset(DAT_EP_HANDLE handle) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    EpParts parts;
    DAT_EP_ATTR attributes;
    {
        MutexLock lock(connection_lock);
        const DAT_EP_STATE state = ep->state.get();
        if (state == DAT_EP_STATE_UNCONNECTED) return DAT_SUCCESS;
        if (!is_legal(EpCall::kReset, state)) return state_error(state);
        forget_connection(*ep);
        parts = ep->parts;
        attributes = ep->attributes;
    }
    return code_of(ep->renew(parts, attributes, EpCall::kReset));
}

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
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, &DAT_EP_ATTR::max_rdma_read_iov);
    take(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, &DAT_EP_ATTR::max_rdma_write_iov);
}

/// A side that gets its EVD, or loses it, starts from the defaults for that.
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

/// Checks a change. @return DAT_SUCCESS with what the EP is to be made of.
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
    DAT_EP_ATTR attributes = ep.attributes;
    follow_evds(ep.ia, ep.parts, *parts, attributes);
    merge_attributes(mask, wanted.ep_attr, attributes);
    if (attributes.recv_completion_flags & DAT_COMPLETION_SUPPRESS_FLAG)
        return raw(DAT_INVALID_PARAMETER);
    if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE && attributes.service_type != DAT_SERVICE_TYPE_RC)
        return bad_argument(3);
    const auto settled = settle_attributes(ep.ia, *parts, &attributes, ep.shared != nullptr);
    if (!settled) return bad_argument(3);
    new_parts = *parts;
    new_attributes = *settled;
    return DAT_SUCCESS;
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
    return code_of(ep->modify(parts, attributes, call));
}

void query(Ep& ep, DAT_EP_PARAM& parameters) {
    const auto handle_of = [](auto* object) { return object ? object->handle() : nullptr; };
    std::memset(&parameters, 0, sizeof parameters);
    parameters.ia_handle = consumer_handle(ep.ia);
    MutexLock lock(connection_lock);
    parameters.ep_state = ep.state.get();
    parameters.comm = kCommunicator;
    parameters.local_ia_address_ptr = reinterpret_cast<DAT_IA_ADDRESS_PTR>(
        const_cast<sockaddr_storage*>(&ep.ia.adapter().address));
    parameters.local_port_qual = ep.connection.local_port_qual;
    parameters.remote_ia_address_ptr =
        reinterpret_cast<DAT_IA_ADDRESS_PTR>(&ep.connection.remote_address);
    parameters.remote_port_qual = ep.connection.remote_port_qual;
    parameters.pz_handle = handle_of(ep.parts.pz);
    parameters.recv_evd_handle = handle_of(ep.parts.recv_evd);
    parameters.request_evd_handle = handle_of(ep.parts.request_evd);
    parameters.connect_evd_handle = handle_of(ep.parts.connect_evd);
    parameters.srq_handle = ep.shared ? ep.shared->srq.handle() : nullptr;
    parameters.ep_attr = ep.attributes;
}

}  // namespace

void destroy_ep(Ep& ep) {
    {
        MutexLock lock(connection_lock);
        const bool was_connected = ep.state.get() != DAT_EP_STATE_UNCONNECTED;
        abandon_connection(ep);
        if (was_connected) ep.flush_queue_pair();
        revoke(ep);
    }
    ep.end_queue_pair();
    {
        MutexLock lock(connection_lock);
        ep.release_parts();
        ep.ia.eps.remove(ep);
    }
    destroy(ep);
}

namespace entry {

DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                     DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                     const DAT_EP_ATTR* attributes, DAT_EP_HANDLE* ep) {
    return uncancelled(
        [=](int) { return create(ia, pz, recv_evd, request_evd, connect_evd, attributes, ep); });
}

DAT_RETURN ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                              DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                              DAT_SRQ_HANDLE srq, const DAT_EP_ATTR* attributes,
                              DAT_EP_HANDLE* ep) {
    const WithSrq with{ia, pz, recv_evd, request_evd, connect_evd, srq, attributes, ep};
    return uncancelled([&with](int) { return create_with_srq(with); });
}

DAT_RETURN ep_free(DAT_EP_HANDLE ep) {
    return uncancelled([=](int) { return free(ep); });
}

DAT_RETURN ep_reset(DAT_EP_HANDLE ep) {
    return uncancelled([=](int) { return reset(ep); });
}

DAT_RETURN ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM* wanted) {
    return uncancelled([=](int) { return modify(ep, mask, wanted); });
}

DAT_RETURN ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM* parameters) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (!parameters) return bad_argument(3);
    if (mask != 0) query(*ep, *parameters);
    return DAT_SUCCESS;
}

DAT_RETURN ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE* state, DAT_BOOLEAN* receives,
                         DAT_BOOLEAN* requests) {
    const Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    // Counts, not truths, whatever the type says: consumers know them as such.
    if (state) *state = ep->state.get();
    if (receives) *receives = static_cast<DAT_BOOLEAN>(ep->receives.slots.posted());
    if (requests) *requests = static_cast<DAT_BOOLEAN>(ep->requests.slots.posted());
    return DAT_SUCCESS;
}

}  // namespace entry
}  // namespace dapl
