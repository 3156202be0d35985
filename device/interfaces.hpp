// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The addresses of this machine.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace dapl {

struct InterfaceAddress {
    std::string interface;
    sockaddr_storage address;  ///< AF_INET or AF_INET6, port 0
    unsigned flags;            ///< IFF_*
};

/// @return the addresses of all interfaces, up or down, in the kernel's order; empty if the kernel
/// does not report them.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace dapl
