// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/verbs/subnet.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace verbs {
namespace {

in_addr_t ipv4(const sockaddr* address) {
    sockaddr_in own;
    std::memcpy(&own, address, sizeof own);
    return own.sin_addr.s_addr;
}

}  // namespace

std::vector<Subnet> subnets_of(unsigned interface_index) {
    char name[IF_NAMESIZE];
    ifaddrs* all = nullptr;
    if (interface_index == 0 || !if_indextoname(interface_index, name) || getifaddrs(&all) != 0)
        return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
    std::vector<Subnet> subnets;
    for (const ifaddrs* one = all; one; one = one->ifa_next) {
        const bool is_ipv4 = one->ifa_addr && one->ifa_addr->sa_family == AF_INET;
        if (!is_ipv4 || !one->ifa_netmask || std::strcmp(one->ifa_name, name) != 0) continue;
        subnets.push_back({ipv4(one->ifa_addr), ipv4(one->ifa_netmask)});
    }
    return subnets;
}

bool contains(const std::vector<Subnet>& subnets, const sockaddr_storage& address) {
    if (address.ss_family != AF_INET) return false;
    const in_addr_t peer = ipv4(reinterpret_cast<const sockaddr*>(&address));
    return std::any_of(subnets.begin(), subnets.end(), [peer](const Subnet& subnet) {
        return (peer & subnet.mask) == (subnet.address & subnet.mask);
    });
}

}  // namespace verbs
