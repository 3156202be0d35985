// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dapl {

/// The peer that a consumer names. Some callers leave the family unset, or give a sockaddr_in
/// whatever it says: only with AF_INET6 are more than 16 bytes read, and an adapter instance on
/// IPv4 takes even that for IPv6 only where the bytes of an IPv4 address are zero.
/// @param own_family of the adapter instance's address.
/// @return AF_INET, also for an IPv4 address in IPv6 form, or AF_INET6.
sockaddr_storage peer_address(const sockaddr* given, sa_family_t own_family);

/// A copy of an address of the sockets interface; nothing unless it is AF_INET or AF_INET6.
std::optional<sockaddr_storage> ip_address(const sockaddr* address);
sockaddr_storage ip_address(const sockaddr_in& address);

/// Same family and address; ports and the rest do not count.
bool same_host(const sockaddr_storage& a, const sockaddr_storage& b);
bool is_any_host(const sockaddr_storage& address);
/// Of 127.0.0.0/8, all of which is this machine's whatever stands at its interfaces.
bool is_ipv4_loopback(const sockaddr_storage& address);

/// Of an AF_INET or AF_INET6 address, host order.
std::uint16_t port_of(const sockaddr_storage& address);
void set_port(sockaddr_storage& address, std::uint16_t port);

/// ADDRESS:PORT for messages; without a port that is 0.
std::string to_text(const sockaddr_storage& address);

}  // namespace dapl
