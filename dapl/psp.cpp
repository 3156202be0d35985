// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/psp.hpp"

#include "dapl/cr.hpp"
#include "dapl/entry.hpp"
#include "dapl/evd.hpp"
#include "dapl/events.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"

namespace dapl {
namespace {

constexpr DAT_CONN_QUAL kFirstAny = 1024;
constexpr DAT_CONN_QUAL kLastAny = 65535;

/// Where dat_psp_create_any looks next; freed qualifiers come round again only after all others.
std::atomic<DAT_CONN_QUAL> next_any{kFirstAny};

DAT_CONN_QUAL take_any() {
    return kFirstAny + (next_any.fetch_add(1, std::memory_order_relaxed) - kFirstAny) %
                           (kLastAny - kFirstAny + 1);
}

bool is_listened_on(const Ia& ia, DAT_CONN_QUAL conn_qual) REQUIRES(ia.mutex) {
    for (const Psp* psp = ia.psps.first(); psp; psp = ia.psps.after(*psp))
        if (psp->conn_qual == conn_qual) return true;
    return false;
}

support::Result<Psp*> make_psp(Ia& ia, DAT_CONN_QUAL conn_qual, Evd& evd) {
    const support::MutexLock guard(ia.mutex);
    if (is_listened_on(ia, conn_qual)) return support::failure(error(DAT_CONN_QUAL_IN_USE));
    Psp* psp = make<Psp>(&ia.provider.table, ia, conn_qual, evd);
    if (const DAT_RETURN code = psp->listen(); code != DAT_SUCCESS) {
        destroy(*psp);
        return support::failure(code);
    }
    ia.psps.add(*psp);
    return psp;
}

struct Checked {
    Ia* ia;
    Evd* evd;
};

support::Result<Checked> check(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle,
                               DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE* psp) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return support::failure(bad_handle(DAT_INVALID_HANDLE_IA));
    Evd* evd = from_handle<Evd>(evd_handle);
    if (!evd || !evd->takes(DAT_EVD_CR_FLAG) || &evd->ia != ia)
        return support::failure(bad_handle(DAT_INVALID_HANDLE_EVD_CR));
    if (!psp) return support::failure(bad_argument(5));
    if (flags == DAT_PSP_PROVIDER_FLAG) return support::failure(raw(DAT_MODEL_NOT_SUPPORTED));
    if (flags != DAT_PSP_CONSUMER_FLAG) return support::failure(bad_argument(4));
    return Checked{ia, evd};
}

}  // namespace

Psp::Psp(Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to)
    : ia(owner), conn_qual(qualifier), evd(requests_to) {
    ++evd.users;
}

Psp::~Psp() {
    --evd.users;
}

DAT_RETURN Psp::listen() {
    const support::MutexLock guard(connection_lock);
    auto listener = ia.manager->listen(conn_qual, *this);
    if (!listener) return listener.error().code;
    listener_ = std::move(*listener);
    return DAT_SUCCESS;
}

void Psp::stop() {
    const support::MutexLock guard(connection_lock);
    listener_.reset();
}

void Psp::request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) {
    Cr* cr = make<Cr>(&ia.provider.table, ia, conn_qual, std::move(connection), data);
    ia.requests.add(*cr);
    auto* address = const_cast<sockaddr_storage*>(&ia.adapter().address);
    post_connection_request(evd, handle(), reinterpret_cast<DAT_IA_ADDRESS_PTR>(address), conn_qual,
                            cr->handle());
}

void close_abruptly(Psp& psp) {
    {
        const support::MutexLock guard(psp.ia.mutex);
        psp.ia.psps.remove(psp);
    }
    psp.stop();
    destroy(psp);
}

namespace entry {

DAT_RETURN psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
                      DAT_PSP_FLAGS flags, DAT_PSP_HANDLE* psp) {
    return uncancelled([&](int) -> DAT_RETURN {
        const auto checked = check(ia, evd, flags, psp);
        if (!checked) return checked.error().code;
        const auto made = make_psp(*checked->ia, conn_qual, *checked->evd);
        if (made) *psp = (*made)->handle();
        return code_of(made);
    });
}

DAT_RETURN psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL* conn_qual, DAT_EVD_HANDLE evd,
                          DAT_PSP_FLAGS flags, DAT_PSP_HANDLE* psp) {
    return uncancelled([&](int) -> DAT_RETURN {
        if (!conn_qual) return bad_argument(2);
        const auto checked = check(ia, evd, flags, psp);
        if (!checked) return checked.error().code;
        for (DAT_CONN_QUAL tries = kFirstAny; tries <= kLastAny; ++tries) {
            const DAT_CONN_QUAL candidate = take_any();
            const auto made = make_psp(*checked->ia, candidate, *checked->evd);
            if (!made && DAT_GET_TYPE(made.error().code) == DAT_CONN_QUAL_IN_USE) continue;
            if (!made) return made.error().code;
            *conn_qual = candidate;
            *psp = (*made)->handle();
            return DAT_SUCCESS;
        }
        return raw(DAT_CONN_QUAL_UNAVAILABLE);
    });
}

DAT_RETURN psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        const Psp* psp = from_handle<Psp>(handle);
        if (!psp) return bad_handle(DAT_INVALID_HANDLE_PSP);
        if (!parameters) return bad_argument(3);
        *parameters = {consumer_handle(psp->ia), psp->conn_qual, psp->evd.handle(),
                       DAT_PSP_CONSUMER_FLAG};
        return DAT_SUCCESS;
    });
}

DAT_RETURN psp_free(DAT_PSP_HANDLE handle) {
    return uncancelled([&](int) -> DAT_RETURN {
        Psp* psp = from_handle<Psp>(handle);
        if (!psp) return bad_handle(DAT_INVALID_HANDLE_PSP);
        close_abruptly(*psp);
        return DAT_SUCCESS;
    });
}

}  // namespace entry
}  // namespace dapl
