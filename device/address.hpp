// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dapl {

/// Whether an AF_INET6 address is in the form that libdaploucm uses: it names a queue pair. The
/// port is then the LID, the flow information the QPN, the address the GID, and the last byte of
/// the scope the queue pair's type, UD.
bool is_queue_pair(const sockaddr_storage& address);
/// @return the LID, QPN and GID of an address in that form, for messages.
std::string queue_pair_text(const sockaddr_storage& address);

/// Reads the peer address that a consumer passes. Some callers leave the family unset, or pass a
/// sockaddr_in with any family. So more than 16 bytes are read only if the family is AF_INET6, and
/// an adapter instance on IPv4 believes that only if the bytes of an IPv4 address are zero.
/// @param own the adapter instance's address. If it names a queue pair, the peer's does too, and
/// all of its 28 bytes are read.
/// @return an AF_INET address, also for an IPv4-mapped IPv6 address, or an AF_INET6 one.
sockaddr_storage peer_address(const sockaddr* given, const sockaddr_storage& own);

/// @return a copy of a socket address; nothing unless it is AF_INET or AF_INET6.
std::optional<sockaddr_storage> ip_address(const sockaddr* address);
sockaddr_storage ip_address(const sockaddr_in& address);

/// Compares family and address; ignores ports and the rest.
bool same_host(const sockaddr_storage& a, const sockaddr_storage& b);
bool is_any_host(const sockaddr_storage& address);
/// Whether the address is in 127.0.0.0/8, all of which belongs to this machine, whatever addresses
/// its interfaces have.
bool is_ipv4_loopback(const sockaddr_storage& address);

/// @return the port of an AF_INET or AF_INET6 address, in host order; 0 for a queue pair, whose LID
/// is in its place.
std::uint16_t port_of(const sockaddr_storage& address);
/// Does nothing to the address of a queue pair.
void set_port(sockaddr_storage& address, std::uint16_t port);

/// @return ADDRESS:PORT for messages, or ADDRESS alone if the port is 0; of a queue pair, its LID,
/// QPN and GID.
std::string to_text(const sockaddr_storage& address);

}  // namespace dapl
