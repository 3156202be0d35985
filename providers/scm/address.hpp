// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The address on which an adapter instance listens: an IPv4 address of this machine, independent
/// of its verbs device.
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

/// @return the address of the first interface that is not loopback and whose name does not begin
/// with "ib", else of the first one whose name does, else the loopback address, even if that
/// interface is down.
sockaddr_in preferred_address(const std::vector<Interface>& all);

/// Whether the user has given the address itself, and not only by DAPL_SCM_NETDEV.
bool has_bind_address(std::string_view ia_name);

/// @return the address that the settings DAPL_SCM_BIND_ADDRESS and DAPL_SCM_NETDEV give, else
/// preferred_address(). Reports settings that name nothing of this machine.
support::Result<sockaddr_in> own_address(std::string_view ia_name);

}  // namespace dapl::scm
