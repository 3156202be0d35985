// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// IP addresses in one form: in6_addr, with IPv4 as mapped IPv6.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>

namespace softverbs {

in6_addr mapped(const in_addr& address);
/// Whether the address is 0.0.0.0 or ::.
bool is_any(const in6_addr& address);
bool same_family(const in6_addr& a, const in6_addr& b);
bool is_loopback(const in6_addr& address);
bool is_multicast(const in6_addr& address);
bool same_address(const in6_addr& a, const in6_addr& b);
/// Whether an interface of this machine has the address.
bool is_local(const in6_addr& address);
/// Whether the address is a loopback address or is_local().
bool is_of_this_machine(const in6_addr& address);
std::string text_of(const in6_addr& address);
std::optional<in6_addr> parse_address(const std::string& text);

/// @return nullopt for a family other than AF_INET and AF_INET6.
std::optional<in6_addr> address_of(const sockaddr* address);
/// @return the port in host order; 0 for another family.
std::uint16_t port_of(const sockaddr* address);
/// Writes an AF_INET address for a mapped one, else AF_INET6.
void fill(sockaddr_storage& to, const in6_addr& address, std::uint16_t port);

}  // namespace softverbs
