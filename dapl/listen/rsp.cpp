// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/rsp.hpp"

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/entry.hpp"
#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl {

Rsp::Rsp(Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to, Ep& reserved)
    : ServicePoint(kKind, owner, qualifier, requests_to), ep(&reserved) {}

void Rsp::request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) {
    const Ep* const waiting = ep.get();
    if (!waiting) return connection->reject({});
    if (!waiting->ud != !connection->is_datagram()) {
        support::trace(
            support::Level::kDebug,
            "{} requests a {} endpoint, but the one at qualifier {} is of the other kind",
            to_text(connection->peer_address()), waiting->ud ? "connected" : "datagram", conn_qual);
        return;  // the connection is destroyed, which refuses the peer
    }
    Cr& cr = admit(std::move(connection), data, ep.get());
    ep.taken();
    tell(cr);
}

void end(Rsp& rsp) {
    rsp.close();
    rsp.ep.release();
    destroy(rsp);
}

namespace {

DAT_RETURN make_rsp(Ia& ia, DAT_CONN_QUAL conn_qual, Ep& ep, Evd& evd, DAT_RSP_HANDLE* handle)
    REQUIRES(connection_lock) {
    Rsp* rsp = make<Rsp>(&ia.provider.table, ia, conn_qual, evd, ep);
    const DAT_RETURN code =
        or_out_of_memory([&]() NO_THREAD_SAFETY_ANALYSIS { return rsp->open(); });
    if (code != DAT_SUCCESS) {
        destroy(*rsp);
        return code;
    }
    rsp->ep.reserve();
    *handle = rsp->handle();
    ia.counters.count(DCNT_IA_RSP_CREATE);
    return DAT_SUCCESS;
}

}  // namespace

namespace entry {

DAT_RETURN rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
                      DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE* rsp) {
    return uncancelled([&](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(ia_handle);
        if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
        const support::MutexLock guard(connection_lock);
        Ep* ep = from_handle<Ep>(ep_handle);
        if (!ep || &ep->ia != ia) return bad_handle(DAT_INVALID_HANDLE_EP);
        const auto evd = request_evd(*ia, evd_handle);
        if (!evd) return evd.error().code;
        if (!rsp) return bad_argument(5);
        if (!is_legal(EpCall::kRspCreate, ep->state.get())) return state_error(ep->state.get());
        return make_rsp(*ia, conn_qual, *ep, **evd, rsp);
    });
}

DAT_RETURN rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        const Rsp* rsp = from_handle<Rsp>(handle);
        if (!rsp) return bad_handle(DAT_INVALID_HANDLE_RSP);
        if (!parameters) return bad_argument(3);
        *parameters = {consumer_handle(rsp->ia), rsp->conn_qual, rsp->evd.handle(), rsp->ep.handle};
        return DAT_SUCCESS;
    });
}

DAT_RETURN rsp_free(DAT_RSP_HANDLE handle) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Rsp* rsp = from_handle<Rsp>(handle);
        if (!rsp) return bad_handle(DAT_INVALID_HANDLE_RSP);
        rsp->ia.counters.count(DCNT_IA_RSP_FREE);
        end(*rsp);
        return DAT_SUCCESS;
    });
}

}  // namespace entry
}  // namespace dapl
