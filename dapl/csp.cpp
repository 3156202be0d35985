// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/csp.hpp"

#include <cstring>

#include "dapl/entry.hpp"
#include "dapl/evd.hpp"
#include "dapl/events.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"

namespace dapl {
namespace {

bool is_known(const DAT_COMM& asked) {
    return asked.domain == kCommunicator.domain && asked.type == kCommunicator.type &&
           (asked.protocol == 0 || asked.protocol == kCommunicator.protocol);
}

/// @return where to listen: the IA has one address, which may also be given as "any".
support::Result<sockaddr_in> own_address(const Ia& ia, const DAT_SOCK_ADDR* asked) {
    if (asked->sa_family != AF_INET)
        return support::failure(error(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
    sockaddr_in wanted{};
    std::memcpy(&wanted, asked, sizeof wanted);
    sockaddr_in own{};
    std::memcpy(&own, &ia.adapter().address, sizeof own);
    if (wanted.sin_addr.s_addr != INADDR_ANY && wanted.sin_addr.s_addr != own.sin_addr.s_addr)
        return support::failure(error(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED));
    own.sin_port = wanted.sin_port;
    return own;
}

DAT_RETURN make_csp(Ia& ia, const sockaddr_in& address, Evd& evd, DAT_CSP_HANDLE* handle) {
    const support::MutexLock guard(connection_lock);
    Csp* csp = make<Csp>(&ia.provider.table, ia, address, evd);
    const DAT_RETURN code = csp->open();
    if (code == DAT_SUCCESS)
        *handle = csp->handle();
    else
        destroy(*csp);
    return code;
}

DAT_RETURN make_at_any_port(Ia& ia, sockaddr_in address, Evd& evd, DAT_CSP_HANDLE* handle) {
    return at_any_qualifier([&](DAT_CONN_QUAL candidate) {
        address.sin_port = htons(static_cast<std::uint16_t>(candidate));
        return make_csp(ia, address, evd, handle);
    });
}

}  // namespace

void end(Csp& csp) {
    csp.close();
    destroy(csp);
}

namespace entry {

DAT_RETURN csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM* comm, DAT_IA_ADDRESS_PTR address,
                      DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE* csp) {
    return uncancelled([&](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(ia_handle);
        if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
        if (!comm) return bad_argument(2);
        if (!address) return bad_argument(3);
        const auto evd = request_evd(*ia, evd_handle);
        if (!evd) return evd.error().code;
        if (!csp) return bad_argument(5);
        if (!is_known(*comm)) return error(DAT_COMM_NOT_SUPPORTED);
        const auto own = own_address(*ia, address);
        if (!own) return own.error().code;
        if (own->sin_port == 0) return make_at_any_port(*ia, *own, **evd, csp);
        return make_csp(*ia, *own, **evd, csp);
    });
}

DAT_RETURN csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK, DAT_CSP_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Csp* csp = from_handle<Csp>(handle);
        if (!csp) return bad_handle(DAT_INVALID_HANDLE_CSP);
        if (!parameters) return bad_argument(3);
        auto* address = const_cast<sockaddr_in*>(&csp->address);
        *parameters = {consumer_handle(csp->ia), &csp->communicator,
                       reinterpret_cast<DAT_IA_ADDRESS_PTR>(address), csp->evd.handle()};
        return DAT_SUCCESS;
    });
}

DAT_RETURN csp_free(DAT_CSP_HANDLE handle) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Csp* csp = from_handle<Csp>(handle);
        if (!csp) return bad_handle(DAT_INVALID_HANDLE_CSP);
        end(*csp);
        return DAT_SUCCESS;
    });
}

}  // namespace entry
}  // namespace dapl
