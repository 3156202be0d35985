// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/psp.hpp"

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ep_attributes.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {
namespace {

struct DestroyEp {
    void operator()(Ep* ep) const { destroy(*ep); }
};

/// Makes an EP without PZ and EVDs, for the consumer to complete.
std::unique_ptr<Ep, DestroyEp> blank_ep(Ia& ia, DAT_SERVICE_TYPE service)
    REQUIRES(connection_lock) {
    std::unique_ptr<Ep, DestroyEp> ep(make<Ep>(&ia.provider.table, ia, nullptr, service));
    ep->attributes = default_attributes(ia, {}, service);
    ep->state.move(EpCause::kOffer);
    return ep;
}

DAT_RETURN make_psp(Ia& ia, DAT_CONN_QUAL conn_qual, Evd& evd, DAT_PSP_FLAGS flags,
                    DAT_PSP_HANDLE* handle) {
    const support::MutexLock guard(connection_lock);
    Psp* psp = make<Psp>(&ia.provider.table, ia, conn_qual, evd, flags);
    const DAT_RETURN code =
        or_out_of_memory([&]() NO_THREAD_SAFETY_ANALYSIS { return psp->open(); });
    if (code == DAT_SUCCESS)
        *handle = psp->handle();
    else
        destroy(*psp);
    return code;
}

struct Checked {
    Ia* ia;
    Evd* evd;
};

support::Result<Checked> check(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle,
                               DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE* psp) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return support::failure(bad_handle(DAT_INVALID_HANDLE_IA));
    const auto evd = request_evd(*ia, evd_handle);
    if (!evd) return tl::unexpected(evd.error());
    if (!psp) return support::failure(bad_argument(5));
    if (flags != DAT_PSP_PROVIDER_FLAG && flags != DAT_PSP_CONSUMER_FLAG)
        return support::failure(bad_argument(4));
    return Checked{ia, *evd};
}

}  // namespace

void Psp::request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) {
    const auto service = connection->is_datagram() ? kDatagramService : DAT_SERVICE_TYPE_RC;
    auto ep = flags == DAT_PSP_PROVIDER_FLAG ? blank_ep(ia, service) : nullptr;
    Cr& cr = admit(std::move(connection), data, ep.get());
    if (ep) ia.eps.add(*ep.release());
    tell(cr);
}

void end(Psp& psp) {
    psp.close();
    destroy(psp);
}

namespace entry {

DAT_RETURN psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
                      DAT_PSP_FLAGS flags, DAT_PSP_HANDLE* psp) {
    return uncancelled([&](int) -> DAT_RETURN {
        const auto checked = check(ia, evd, flags, psp);
        if (!checked) return checked.error().code;
        const DAT_RETURN code = make_psp(*checked->ia, conn_qual, *checked->evd, flags, psp);
        if (code == DAT_SUCCESS) checked->ia->counters.count(DCNT_IA_PSP_CREATE);
        return code;
    });
}

DAT_RETURN psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL* conn_qual, DAT_EVD_HANDLE evd,
                          DAT_PSP_FLAGS flags, DAT_PSP_HANDLE* psp) {
    return uncancelled([&](int) -> DAT_RETURN {
        if (!conn_qual) return bad_argument(2);
        const auto checked = check(ia, evd, flags, psp);
        if (!checked) return checked.error().code;
        return at_any_qualifier([&](DAT_CONN_QUAL candidate) {
            const DAT_RETURN code = make_psp(*checked->ia, candidate, *checked->evd, flags, psp);
            if (code != DAT_SUCCESS) return code;
            *conn_qual = candidate;
            checked->ia->counters.count(DCNT_IA_PSP_CREATE_ANY);
            return kSuccess;
        });
    });
}

DAT_RETURN psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        const Psp* psp = from_handle<Psp>(handle);
        if (!psp) return bad_handle(DAT_INVALID_HANDLE_PSP);
        if (!parameters) return bad_argument(3);
        *parameters = {consumer_handle(psp->ia), psp->conn_qual, psp->evd.handle(), psp->flags};
        return DAT_SUCCESS;
    });
}

DAT_RETURN psp_free(DAT_PSP_HANDLE handle) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Psp* psp = from_handle<Psp>(handle);
        if (!psp) return bad_handle(DAT_INVALID_HANDLE_PSP);
        psp->ia.counters.count(DCNT_IA_PSP_FREE);
        end(*psp);
        return DAT_SUCCESS;
    });
}

}  // namespace entry
}  // namespace dapl
