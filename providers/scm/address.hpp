// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where an adapter instance listens: an IPv4 address of this machine, which has nothing to do with
/// its verbs device.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/base/result.hpp"

namespace dapl::scm {

/// Part of the wire contract: both ends compute it. @return 0 for the qualifier that has no port.
constexpr std::uint16_t port_of(std::uint64_t conn_qual) {
    constexpr std::uint64_t kFirstPort = 1000;
    return static_cast<std::uint16_t>(conn_qual + kFirstPort);
}

struct Interface {
    std::string name;
    sockaddr_in address;
    bool is_loopback;
};
/// The machine's interfaces that are up and have an IPv4 address, one entry for each address.
std::vector<Interface> interfaces();

/// The first interface that is no loopback and whose name does not begin with "ib", else the first
/// one that does, else loopback, be it down.
sockaddr_in preferred_address(const std::vector<Interface>& all);

/// Whether the user has named the address itself, and not only by DAPL_SCM_NETDEV.
bool has_bind_address(std::string_view ia_name);

/// As the settings DAPL_SCM_BIND_ADDRESS and DAPL_SCM_NETDEV have it, else preferred_address().
/// Tells the user where they name nothing of this machine.
support::Result<sockaddr_in> own_address(std::string_view ia_name);

}  // namespace dapl::scm
