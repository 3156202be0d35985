// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dapl {

/// Reads the peer address that a consumer passes. Some callers leave the family unset, or pass a
/// sockaddr_in with any family. So more than 16 bytes are read only if the family is AF_INET6, and
/// an adapter instance on IPv4 believes that only if the bytes of an IPv4 address are zero.
/// @param own_family family of the adapter instance's address.
/// @return an AF_INET address, also for an IPv4-mapped IPv6 address, or an AF_INET6 one.
sockaddr_storage peer_address(const sockaddr* given, sa_family_t own_family);

/// @return a copy of a socket address; nothing unless it is AF_INET or AF_INET6.
std::optional<sockaddr_storage> ip_address(const sockaddr* address);
sockaddr_storage ip_address(const sockaddr_in& address);

/// Compares family and address; ignores ports and the rest.
bool same_host(const sockaddr_storage& a, const sockaddr_storage& b);
bool is_any_host(const sockaddr_storage& address);
/// Whether the address is in 127.0.0.0/8, all of which belongs to this machine, whatever addresses
/// its interfaces have.
bool is_ipv4_loopback(const sockaddr_storage& address);

/// @return the port of an AF_INET or AF_INET6 address, in host order.
std::uint16_t port_of(const sockaddr_storage& address);
void set_port(sockaddr_storage& address, std::uint16_t port);

/// @return ADDRESS:PORT for messages, or ADDRESS alone if the port is 0.
std::string to_text(const sockaddr_storage& address);

}  // namespace dapl
