// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ep_attributes.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {
namespace {

using support::MutexLock;

void add(Ep& ep) {
    MutexLock lock(connection_lock);
    ep.ia.eps.add(ep);
}

support::Result<Ep*> make_ep(Ia& ia, const EpParts& parts, const DAT_EP_ATTR& attributes,
                             Srq* srq = nullptr) {
    Ep* ep = make<Ep>(&ia.provider.table, ia, srq, attributes.service_type);
    try {
        const support::Result<void> renewed = ep->renew(parts, attributes, EpCall::kModifyPz);
        if (!renewed) {
            destroy(*ep);
            return tl::unexpected(renewed.error());
        }
    } catch (const std::bad_alloc&) {
        add(*ep);  // it may have a queue pair, but no peer to wait for
        static_cast<void>(destroy_ep(*ep));
        return support::failure(out_of_memory());
    }
    add(*ep);
    ia.counters.count(DCNT_IA_EP_CREATE);
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
    Ia& ia = ep->ia;
    if (!destroy_ep(*ep)) return raw(DAT_INVALID_STATE);
    ia.counters.count(DCNT_IA_EP_FREE);
    return DAT_SUCCESS;
}

DAT_RETURN reset(DAT_EP_HANDLE handle) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    EpParts parts;
    DAT_EP_ATTR attributes;
    if (!ep->end_old()) return raw(DAT_INVALID_STATE);
    {
        MutexLock lock(connection_lock);
        const DAT_EP_STATE state = ep->state.get();
        const bool is_broken = ep->ud && ep->ud->is_broken();
        if (state == DAT_EP_STATE_UNCONNECTED && !is_broken) return DAT_SUCCESS;
        if (!is_legal(EpCall::kReset, state)) return state_error(state);
        forget_connection(*ep);
        parts = ep->parts;
        attributes = ep->attributes;
    }
    return code_of(ep->renew(parts, attributes, EpCall::kReset));
}

void query(Ep& ep, DAT_EP_PARAM& parameters) {
    const auto handle_of = [](auto* object) { return object ? object->handle() : nullptr; };
    std::memset(&parameters, 0, sizeof parameters);
    parameters.ia_handle = consumer_handle(ep.ia);
    MutexLock lock(connection_lock);
    parameters.ep_state = ep.state.get();
    parameters.comm = communicator_of(ep.ia);
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

bool destroy_ep(Ep& ep) {
    {
        MutexLock lock(connection_lock);
        const bool was_working = ep.ud || ep.state.get() != DAT_EP_STATE_UNCONNECTED;
        abandon_connection(ep);
        if (was_working) ep.flush_queue_pair();
        revoke(ep);
    }
    if (!ep.end_queue_pair()) {
        admit(ep, &ep.ia.provider.table);
        return false;
    }
    {
        MutexLock lock(connection_lock);
        if (ep.ud) ep.ud->free_addresses();
        ep.release_parts();
        ep.ia.eps.remove(ep);
    }
    destroy(ep);
    return true;
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

DAT_RETURN ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM* parameters) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (!parameters) return bad_argument(3);
    if (mask != 0) query(*ep, *parameters);
    return DAT_SUCCESS;
}

DAT_RETURN ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE* state, DAT_BOOLEAN* receives,
                         DAT_BOOLEAN* requests) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    // Counts, although the type is DAT_BOOLEAN: consumers rely on them.
    if (state) *state = ep->state.get();
    if (receives) *receives = static_cast<DAT_BOOLEAN>(ep->receives.posted());
    if (requests) *requests = static_cast<DAT_BOOLEAN>(ep->requests.posted());
    return DAT_SUCCESS;
}

}  // namespace entry
}  // namespace dapl
