// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IA address: the service queue pair's, in a sockaddr_in6 (device/address.hpp, is_queue_pair).
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "providers/exchange/message.hpp"

namespace dapl::ucm {

using exchange::QpAddress;

/// Part of the wire contract: a listener has the low 16 bits of its connection qualifier.
/// @return 0 for a qualifier that has no port.
constexpr std::uint16_t port_of(std::uint64_t conn_qual) {
    return static_cast<std::uint16_t>(conn_qual);
}

/// The address as peers get it from dat_ia_query, and hand it to dat_ep_connect.
/// @param address of a service queue pair.
sockaddr_storage to_socket_address(const QpAddress& address);
/// @param address as dapl::peer_address() reads it.
QpAddress from_socket_address(const sockaddr_storage& address);

}  // namespace dapl::ucm
