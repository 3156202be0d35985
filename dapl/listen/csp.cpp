// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/csp.hpp"

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {
namespace {

bool is_known(const DAT_COMM& asked, const DAT_COMM& own) {
    return asked.domain == own.domain && asked.type == own.type &&
           (asked.protocol == 0 || asked.protocol == own.protocol);
}

/// @return the address to listen on: the only one of the IA, which may also be given as "any".
support::Result<sockaddr_storage> own_address(const Ia& ia, const DAT_SOCK_ADDR* asked) {
    sockaddr_storage own = ia.adapter().address;
    // The address of a queue pair has no room for a connection qualifier.
    if (asked->sa_family != own.ss_family || is_queue_pair(own))
        return support::failure(error(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
    const sockaddr_storage wanted = peer_address(asked, own);
    if (!is_any_host(wanted) && !same_host(wanted, own))
        return support::failure(error(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED));
    set_port(own, port_of(wanted));
    return own;
}

DAT_RETURN make_csp(Ia& ia, const sockaddr_storage& address, Evd& evd, DAT_CSP_HANDLE* handle) {
    const support::MutexLock guard(connection_lock);
    Csp* csp = make<Csp>(&ia.provider.table, ia, address, evd);
    const DAT_RETURN code =
        or_out_of_memory([&]() NO_THREAD_SAFETY_ANALYSIS { return csp->open(); });
    if (code == DAT_SUCCESS)
        *handle = csp->handle();
    else
        destroy(*csp);
    return code;
}

DAT_RETURN make_at_any_port(Ia& ia, sockaddr_storage address, Evd& evd, DAT_CSP_HANDLE* handle) {
    return at_any_qualifier([&](DAT_CONN_QUAL candidate) {
        set_port(address, static_cast<std::uint16_t>(candidate));
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
        if (!is_known(*comm, communicator_of(*ia))) return error(DAT_COMM_NOT_SUPPORTED);
        const auto own = own_address(*ia, address);
        if (!own) return own.error().code;
        if (port_of(*own) == 0) return make_at_any_port(*ia, *own, **evd, csp);
        return make_csp(*ia, *own, **evd, csp);
    });
}

DAT_RETURN csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK, DAT_CSP_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Csp* csp = from_handle<Csp>(handle);
        if (!csp) return bad_handle(DAT_INVALID_HANDLE_CSP);
        if (!parameters) return bad_argument(3);
        auto* address = const_cast<sockaddr_storage*>(&csp->address);
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
