// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Argument and state checks of dat_ep_connect, dat_ep_common_connect, dat_ep_dup_connect,
/// dat_iw_socket_connect and dat_ep_disconnect.
#include <dat2/dat_iw_extensions.h>
#include <netinet/in.h>

#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/cm/lent_socket.hpp"
#include "dapl/cm/private_data.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/socket_connect.hpp"
#include "dapl/provider/entry.hpp"
#include "device/address.hpp"

namespace dapl::entry {
namespace {

constexpr DAT_RETURN kNotReady = error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);

struct Target {
    const sockaddr* address;
    DAT_CONN_QUAL conn_qual;
    DAT_TIMEOUT timeout;
    DAT_COUNT data_size;
    DAT_PVOID data;
    DAT_QOS quality;
    DAT_CONNECT_FLAGS flags;
};

/// Positions of a call's arguments, as DAT_INVALID_ARGn counts them.
struct ArgumentNumbers {
    int timeout, data_size, data;
};

/// @return DAT_SUCCESS if the EP may begin a connection.
DAT_RETURN check(Ep& ep, DAT_TIMEOUT timeout, ArgumentNumbers numbers) REQUIRES(connection_lock) {
    if (!ep.parts.connect_evd) return bad_handle(DAT_INVALID_HANDLE_EVD_CONN);
    if (timeout == 0) return bad_argument(numbers.timeout);
    if (!ep.queue_pair() || !ep.parts.connect_evd->takes(DAT_EVD_CONNECTION_FLAG)) return kNotReady;
    if (!ep.ud && !is_legal(EpCall::kConnect, ep.state.get())) return state_error(ep.state.get());
    return DAT_SUCCESS;
}

DAT_RETURN connect(Ep& ep, const Target& target, ArgumentNumbers numbers)
    REQUIRES(connection_lock) {
    const DAT_RETURN refused = check(ep, target.timeout, numbers);
    if (refused != DAT_SUCCESS) return refused;
    if (target.quality != DAT_QOS_BEST_EFFORT || target.flags != DAT_CONNECT_DEFAULT_FLAG)
        return error(DAT_MODEL_NOT_SUPPORTED);
    const std::size_t most = (ep.ud ? ep.ud->service.limits : ep.ia.manager->limits()).connect;
    const auto data =
        private_data(target.data_size, target.data, most, numbers.data_size, numbers.data);
    if (!data) return data.error().code;
    const DAT_RETURN code =
        ep.ud ? ep.ud->connect(target.address, target.conn_qual, target.timeout, *data)
              : ep.connection.connect(target.address, target.conn_qual, target.timeout, *data);
    if (code == DAT_SUCCESS) ep.counters.count(DCNT_EP_CONNECT);
    return code;
}

}  // namespace

DAT_RETURN ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL conn_qual,
                      DAT_TIMEOUT timeout, DAT_COUNT data_size, const DAT_PVOID data,
                      DAT_QOS quality, DAT_CONNECT_FLAGS flags) {
    return uncancelled([&](int) -> DAT_RETURN {
        if (!address) return bad_argument(2);
        Ep* ep = from_handle<Ep>(ep_handle);
        if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
        const support::MutexLock guard(connection_lock);
        const auto* peer = reinterpret_cast<const sockaddr*>(address);
        return connect(*ep, {peer, conn_qual, timeout, data_size, data, quality, flags},
                       {.timeout = 4, .data_size = 5, .data = 6});
    });
}

DAT_RETURN ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR address,
                             DAT_TIMEOUT timeout, DAT_COUNT data_size, const DAT_PVOID data) {
    return uncancelled([&](int) -> DAT_RETURN {
        if (!address) return bad_argument(2);
        Ep* ep = from_handle<Ep>(ep_handle);
        if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
        sockaddr_in head;  // the port has the same offset in both families
        std::memcpy(&head, address, sizeof head);
        const bool is_known = head.sin_family == AF_INET || head.sin_family == AF_INET6;
        // An address whose port is a LID has no room for a connection qualifier.
        if (!is_known || head.sin_port == 0 || is_queue_pair(ep->ia.adapter().address))
            return error(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
        const support::MutexLock guard(connection_lock);
        const auto* peer = reinterpret_cast<const sockaddr*>(address);
        return connect(*ep,
                       {peer, ntohs(head.sin_port), timeout, data_size, data, DAT_QOS_BEST_EFFORT,
                        DAT_CONNECT_DEFAULT_FLAG},
                       {.timeout = 3, .data_size = 4, .data = 5});
    });
}

DAT_RETURN ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE connected_handle,
                          DAT_TIMEOUT timeout, DAT_COUNT data_size, const DAT_PVOID data,
                          DAT_QOS quality) {
    return uncancelled([&](int) -> DAT_RETURN {
        Ep* ep = from_handle<Ep>(ep_handle);
        const Ep* connected = from_handle<Ep>(connected_handle);
        if (!ep || !connected) return bad_handle(DAT_INVALID_HANDLE_EP);
        if (timeout == 0) return bad_argument(3);
        const support::MutexLock guard(connection_lock);
        if (connected->state.get() != DAT_EP_STATE_CONNECTED)
            return state_error(connected->state.get());
        const auto* peer = reinterpret_cast<const sockaddr*>(&connected->connection.remote_address);
        return connect(*ep,
                       {peer, connected->connection.remote_port_qual, timeout, data_size, data,
                        quality, DAT_CONNECT_DEFAULT_FLAG},
                       {.timeout = 3, .data_size = 4, .data = 5});
    });
}

DAT_RETURN ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags) {
    return uncancelled([&](int) -> DAT_RETURN {
        Ep* ep = from_handle<Ep>(ep_handle);
        if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
        if (ep->ud) return DAT_SUCCESS;  // it has no connection
        const bool abrupt = flags == DAT_CLOSE_ABRUPT_FLAG;
        const support::MutexLock guard(connection_lock);
        const DAT_EP_STATE state = ep->state.get();
        if (state == DAT_EP_STATE_DISCONNECT_PENDING && !abrupt) return bad_argument(2);
        if (!is_legal(abrupt ? EpCall::kDisconnectAbrupt : EpCall::kDisconnectGraceful, state))
            return state_error(state);
        ep->connection.disconnect(abrupt ? EpCause::kDisconnectAbrupt
                                         : EpCause::kDisconnectGraceful);
        ep->counters.count(DCNT_EP_DISCONNECT);
        return DAT_SUCCESS;
    });
}

}  // namespace dapl::entry

namespace dapl {

DAT_RETURN connect_over_socket(DAT_HANDLE handle, va_list arguments) {
    const auto given = va_arg(arguments, DAT_IW_SOCKET);
    const auto timeout = va_arg(arguments, DAT_TIMEOUT);
    const auto data_size = va_arg(arguments, DAT_COUNT);
    auto* const data = va_arg(arguments, DAT_PVOID);
    return uncancelled([&](int) -> DAT_RETURN {
        Ep* ep = from_handle<Ep>(handle);
        if (!ep || ep->ud) return bad_handle(DAT_INVALID_HANDLE_EP);
        cm::Manager& manager = *ep->ia.manager;
        const auto limits = manager.socket_limits();
        if (!limits) return raw(DAT_MODEL_NOT_SUPPORTED);
        auto socket = cm::lent_socket(given);
        if (!socket) return bad_argument(2);
        if (!socket->valid())
            return refused_by_system(errno, "a duplicate of a socket").value().code;
        const support::MutexLock guard(connection_lock);
        const entry::ArgumentNumbers numbers{.timeout = 3, .data_size = 4, .data = 5};
        const DAT_RETURN refused = entry::check(*ep, timeout, numbers);
        if (refused != DAT_SUCCESS) return refused;
        const auto bytes =
            private_data(data_size, data, limits->connect, numbers.data_size, numbers.data);
        if (!bytes) return bytes.error().code;
        const DAT_RETURN code = ep->connection.connect_over(std::move(*socket), timeout, *bytes);
        if (code == DAT_SUCCESS) ep->counters.count(DCNT_EP_CONNECT);
        return code;
    });
}

}  // namespace dapl
