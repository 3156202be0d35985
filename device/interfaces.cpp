// SPDX-License-Identifier: BSD-2-Clause
#include "device/interfaces.hpp"

#include <ifaddrs.h>

#include <memory>

#include "device/address.hpp"

namespace dapl {

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
    std::vector<InterfaceAddress> all;
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next)
        if (const auto address = ip_address(entry->ifa_addr))
            all.push_back({entry->ifa_name, *address, entry->ifa_flags});
    return all;
}

}  // namespace dapl
