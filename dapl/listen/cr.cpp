// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/cr.hpp"

#include <algorithm>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/cm/private_data.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/listen/service_point.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {

Cr::Cr(Ia& owner, DAT_CONN_QUAL qualifier, std::unique_ptr<cm::Connection> request,
       cm::PrivateData data)
    : ia(owner),
      conn_qual(qualifier),
      connection(std::move(request)),
      remote_address(connection->peer_address()),
      private_data_size(static_cast<DAT_COUNT>(std::min(data.size(), private_data.size()))) {
    std::copy_n(data.begin(), private_data_size, private_data.begin());
}

void close(Cr& cr) {
    cr.ia.requests.remove(cr);
    destroy(cr);
}

Ep* drop(Cr& cr) {
    Ep* ep = cr.ep;
    close(cr);
    if (!ep) return nullptr;
    const DAT_EP_STATE state = ep->state.get();
    ep->state.move(EpCause::kRelease);
    if (state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING &&
        state != DAT_EP_STATE_UNCONFIGURED_TENTATIVE)
        return nullptr;
    revoke(*ep);
    return ep;
}

void close_requests(Ia& ia) {
    for (;;) {
        Ep* orphan;
        {
            const support::MutexLock guard(connection_lock);
            Cr* cr = ia.requests.first();
            if (!cr) return;
            orphan = drop(*cr);
        }
        if (orphan) static_cast<void>(destroy_ep(*orphan));  // it never had a peer
    }
}

namespace {

/// @return the EP to accept with: the one that came with the request, else the consumer's; nullptr
/// if the handle is not valid for it.
Ep* chosen_ep(const Cr& cr, DAT_EP_HANDLE handle) REQUIRES(connection_lock) {
    if (cr.ep) return !handle || handle == cr.ep->handle() ? cr.ep : nullptr;
    Ep* ep = from_handle<Ep>(handle);
    return ep && &ep->ia == &cr.ia ? ep : nullptr;
}

cm::Limits limits_of(const Cr& cr) REQUIRES(connection_lock) {
    const auto service = cr.ia.manager->datagrams();
    if (cr.connection->is_datagram() && service) return service->limits;
    return cr.connection->limits().value_or(cr.ia.manager->limits());
}

/// Accepts a request of a datagram endpoint. Returns the EP to the consumer at once, since there is
/// no connection to wait for.
DAT_RETURN accept_datagrams(Cr& cr, Ep& ep, cm::PrivateData data) REQUIRES(connection_lock) {
    const auto size = static_cast<std::size_t>(cr.private_data_size);
    const DAT_RETURN code = ep.ud->accept(cr.connection, {cr.private_data.data(), size}, data);
    if (code == DAT_SUCCESS) ep.state.move(EpCause::kRelease);
    return code;
}

DAT_RETURN accept(Cr& cr, DAT_EP_HANDLE ep_handle, DAT_COUNT data_size, const DAT_PVOID data)
    REQUIRES(connection_lock) {
    Ep* ep = chosen_ep(cr, ep_handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (data_size > 0 && !data) return bad_argument(4);
    const EpCall call = cr.ep ? EpCall::kAcceptOwn : EpCall::kAccept;
    if (!is_legal(call, ep->state.get())) return raw(DAT_INVALID_STATE);
    const bool suits = !ep->ud == !cr.connection->is_datagram();
    if (!suits || !ep->is_complete()) return bad_handle(DAT_INVALID_HANDLE_EP);
    const auto given = private_data(data_size, data, limits_of(cr).accept, 3, 4);
    if (!given) return given.error().code;
    const DAT_RETURN code = ep->ud ? accept_datagrams(cr, *ep, *given)
                                   : ep->connection.accept(cr.connection, cr.conn_qual, *given);
    if (code != DAT_SUCCESS) return code;
    cr.ia.counters.count(DCNT_IA_SP_CR_ACCEPTED);
    cr.ia.counters.count(DCNT_IA_CM_REP_TX);
    close(cr);
    if (!ep->ud) ep->connection.answer();  // last: releases connection_lock
    return DAT_SUCCESS;
}

/// Passes the request on to another service point of the IA. @param orphan out: from drop().
DAT_RETURN hand_off(Cr& cr, DAT_CONN_QUAL conn_qual, Ep*& orphan) REQUIRES(connection_lock) {
    ServicePoint* next = service_point_at(cr.ia, conn_qual);
    if (!next) return bad_argument(2);
    std::unique_ptr<cm::Connection> connection = std::move(cr.connection);
    const auto data = cr.private_data;
    const auto size = static_cast<std::size_t>(cr.private_data_size);
    orphan = drop(cr);
    next->request(std::move(connection), cm::PrivateData(data.data(), size));
    return DAT_SUCCESS;
}

/// Calls `answer` for a live CR, then ends the EP that this has orphaned, if any.
/// @param answer (Cr&, Ep*& orphan) -> DAT_RETURN, with connection_lock held.
template <class Answer>
DAT_RETURN with_request(DAT_CR_HANDLE handle, const Answer& answer) {
    Ep* orphan = nullptr;
    DAT_RETURN code;
    {
        const support::MutexLock guard(connection_lock);
        Cr* cr = from_handle<Cr>(handle);
        if (!cr) return bad_handle(DAT_INVALID_HANDLE_CR);
        code = answer(*cr, orphan);
    }
    if (orphan) static_cast<void>(destroy_ep(*orphan));  // it never had a peer
    return code;
}

}  // namespace

namespace entry {

DAT_RETURN cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK, DAT_CR_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Cr* cr = from_handle<Cr>(handle);
        if (!cr) return bad_handle(DAT_INVALID_HANDLE_CR);
        if (!parameters) return bad_argument(3);
        *parameters = {};
        parameters->remote_ia_address_ptr =
            reinterpret_cast<DAT_IA_ADDRESS_PTR>(&cr->remote_address);
        parameters->private_data_size = cr->private_data_size;
        parameters->private_data = cr->private_data.data();
        parameters->local_ep_handle = cr->ep ? cr->ep->handle() : nullptr;
        return DAT_SUCCESS;
    });
}

DAT_RETURN cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep, DAT_COUNT data_size,
                     const DAT_PVOID data) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Cr* cr = from_handle<Cr>(handle);
        if (!cr) return bad_handle(DAT_INVALID_HANDLE_CR);
        return accept(*cr, ep, data_size, data);
    });
}

DAT_RETURN cr_reject(DAT_CR_HANDLE handle, DAT_COUNT data_size, const DAT_PVOID data) {
    return uncancelled([&](int) -> DAT_RETURN {
        return with_request(handle, [&](Cr& cr, Ep*& orphan) REQUIRES(connection_lock) {
            const auto given = private_data(data_size, data, limits_of(cr).reject, 2, 3);
            if (!given) return given.error().code;
            cr.connection->reject(*given);
            cr.ia.counters.count(DCNT_IA_SP_CR_REJECTED);
            cr.ia.counters.count(DCNT_IA_CM_USER_REJ_TX);
            orphan = drop(cr);
            return kSuccess;
        });
    });
}

DAT_RETURN cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL conn_qual) {
    return uncancelled([&](int) -> DAT_RETURN {
        return with_request(handle, [&](Cr& cr, Ep*& orphan) REQUIRES(connection_lock) {
            return hand_off(cr, conn_qual, orphan);
        });
    });
}

}  // namespace entry
}  // namespace dapl
