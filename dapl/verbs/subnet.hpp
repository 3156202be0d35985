// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IPv4 subnets of a network interface: a peer in one of them is on the interface's link.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

namespace verbs {

/// In network byte order.
struct Subnet {
    in_addr_t address;
    in_addr_t mask;
};

/// Asks the system. @param interface_index 0 names no interface. @return an empty list if the
/// subnets cannot be found out.
std::vector<Subnet> subnets_of(unsigned interface_index);

/// @param address of any family; only IPv4 is in a subnet.
bool contains(const std::vector<Subnet>& subnets, const sockaddr_storage& address);

}  // namespace verbs
