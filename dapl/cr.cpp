// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cr.hpp"

#include <algorithm>

#include "dapl/entry.hpp"
#include "dapl/ep.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"
#include "dapl/private_data.hpp"

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

void close_requests(Ia& ia) {
    const support::MutexLock guard(connection_lock);
    while (Cr* cr = ia.requests.first()) close(*cr);
}

namespace entry {

DAT_RETURN cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK, DAT_CR_PARAM* parameters) {
    return uncancelled([&](int) -> DAT_RETURN {
        Cr* cr = from_handle<Cr>(handle);
        if (!cr) return bad_handle(DAT_INVALID_HANDLE_CR);
        if (!parameters) return bad_argument(3);
        *parameters = {};
        parameters->remote_ia_address_ptr =
            reinterpret_cast<DAT_IA_ADDRESS_PTR>(&cr->remote_address);
        parameters->private_data_size = cr->private_data_size;
        parameters->private_data = cr->private_data.data();
        return DAT_SUCCESS;
    });
}

DAT_RETURN cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep_handle, DAT_COUNT data_size,
                     const DAT_PVOID data) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Cr* cr = from_handle<Cr>(handle);
        if (!cr) return bad_handle(DAT_INVALID_HANDLE_CR);
        Ep* ep = from_handle<Ep>(ep_handle);
        if (!ep || &ep->ia != &cr->ia) return bad_handle(DAT_INVALID_HANDLE_EP);
        if (data_size > 0 && !data) return bad_argument(4);
        if (!is_legal(EpCall::kAccept, ep->state.get())) return raw(DAT_INVALID_STATE);
        if (!ep->queue_pair() || !ep->parts.connect_evd) return bad_handle(DAT_INVALID_HANDLE_EP);
        const auto given = private_data(data_size, data, cr->ia.manager->limits().accept, 3, 4);
        if (!given) return given.error().code;
        const DAT_RETURN code = ep->connection.accept(cr->connection, cr->conn_qual, *given);
        if (code == DAT_SUCCESS) close(*cr);
        return code;
    });
}

DAT_RETURN cr_reject(DAT_CR_HANDLE handle, DAT_COUNT data_size, const DAT_PVOID data) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Cr* cr = from_handle<Cr>(handle);
        if (!cr) return bad_handle(DAT_INVALID_HANDLE_CR);
        const auto given = private_data(data_size, data, cr->ia.manager->limits().reject, 2, 3);
        if (!given) return given.error().code;
        cr->connection->reject(*given);
        close(*cr);
        return DAT_SUCCESS;
    });
}

}  // namespace entry
}  // namespace dapl
