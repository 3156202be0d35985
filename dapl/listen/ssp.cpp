// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/ssp.hpp"

#include <utility>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/cm/lent_socket.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/evd.hpp"
#include "support/log/log.hpp"

namespace dapl {

Ssp::Ssp(Ia& owner, DAT_CONN_QUAL own_port, Evd& requests_to, DAT_IW_SOCKET given, Ep* reserved)
    : ServicePoint(kKind, owner, own_port, requests_to), ep(reserved), given_(given) {}

void Ssp::request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) {
    is_waiting_ = false;
    Cr& cr = admit(std::move(connection), data, ep.get());
    ep.taken();
    tell(cr);
}

/// The program, which has the socket too, sees its end there.
void Ssp::deserted() {
    is_waiting_ = false;
    ep.release();
}

DAT_IW_SSP_PARAM Ssp::parameters() const {
    return {consumer_handle(ia), given_, evd.handle(), ep.handle,
            is_waiting_ ? DAT_IW_SSP_STATE_OPERATIONAL : DAT_IW_SSP_STATE_NON_OPERATIONAL};
}

void end(Ssp& ssp) {
    ssp.close();
    ssp.ep.release();
    destroy(ssp);
}

namespace {

constexpr DAT_COUNT kMostLastWords = 4096;

struct Asked {
    DAT_IW_SOCKET socket;
    DAT_EP_HANDLE ep;
    DAT_EVD_HANDLE evd;
    const void* message;
    DAT_COUNT size;
    DAT_IW_SSP_HANDLE* made;
};

/// @return the EP that is asked for, nullptr if none is.
support::Result<Ep*> free_ep(const Ia& ia, DAT_EP_HANDLE handle) REQUIRES(connection_lock) {
    if (handle == DAT_HANDLE_NULL) return nullptr;
    Ep* ep = from_handle<Ep>(handle);
    if (!ep || &ep->ia != &ia || ep->ud) return support::failure(bad_handle(DAT_INVALID_HANDLE_EP));
    if (!is_legal(EpCall::kRspCreate, ep->state.get()))
        return support::failure(state_error(ep->state.get()));
    return ep;
}

DAT_RETURN make_ssp(Ia& ia, support::UniqueFd socket, const Asked& asked, Evd& evd, Ep* ep)
    REQUIRES(connection_lock) {
    Ssp* ssp = make<Ssp>(&ia.provider.table, ia, cm::own_port(socket), evd, asked.socket, ep);
    const DAT_RETURN code = or_out_of_memory([&]() NO_THREAD_SAFETY_ANALYSIS {
        return ssp->open_over(std::move(socket),
                              std::as_bytes(std::span(static_cast<const char*>(asked.message),
                                                      static_cast<std::size_t>(asked.size))));
    });
    if (code != DAT_SUCCESS) {
        destroy(*ssp);
        return code;
    }
    ssp->ep.reserve();
    *asked.made = ssp->handle();
    return DAT_SUCCESS;
}

DAT_RETURN create(Ia& ia, const Asked& asked) {
    if (!ia.manager->socket_limits()) return raw(DAT_MODEL_NOT_SUPPORTED);
    const auto evd = request_evd(ia, asked.evd);
    if (!evd) return evd.error().code;
    if (asked.size < 0 || asked.size > kMostLastWords) return bad_argument(6);
    if (!asked.message && asked.size != 0) return bad_argument(5);
    if (!asked.made) return bad_argument(7);
    auto socket = cm::lent_socket(asked.socket);
    if (!socket) return bad_argument(2);
    if (!socket->valid()) return refused_by_system(errno, "a duplicate of a socket").value().code;
    const support::MutexLock guard(connection_lock);
    const auto ep = free_ep(ia, asked.ep);
    if (!ep) return ep.error().code;
    return make_ssp(ia, std::move(*socket), asked, **evd, *ep);
}

}  // namespace

DAT_RETURN create_ssp(DAT_HANDLE handle, va_list arguments) {
    Asked asked{};
    asked.socket = va_arg(arguments, DAT_IW_SOCKET);
    asked.ep = va_arg(arguments, DAT_EP_HANDLE);
    asked.evd = va_arg(arguments, DAT_EVD_HANDLE);
    asked.message = va_arg(arguments, DAT_PVOID);
    asked.size = va_arg(arguments, DAT_COUNT);
    asked.made = va_arg(arguments, DAT_IW_SSP_HANDLE*);
    return uncancelled([&](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(handle);
        return ia ? create(*ia, asked) : bad_handle(DAT_INVALID_HANDLE_IA);
    });
}

DAT_RETURN free_ssp(DAT_HANDLE handle) {
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Ssp* ssp = from_handle<Ssp>(handle);
        if (!ssp) return bad_handle(DAT_INVALID_HANDLE1);
        end(*ssp);
        return DAT_SUCCESS;
    });
}

DAT_RETURN query_ssp(DAT_HANDLE handle, va_list arguments) {
    va_arg(arguments, unsigned);  // the mask: all are given
    auto* parameters = va_arg(arguments, DAT_IW_SSP_PARAM*);
    return uncancelled([&](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        const Ssp* ssp = from_handle<Ssp>(handle);
        if (!ssp) return bad_handle(DAT_INVALID_HANDLE1);
        if (!parameters) return bad_argument(3);
        *parameters = ssp->parameters();
        return DAT_SUCCESS;
    });
}

}  // namespace dapl
