// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "dapl/codes.hpp"
#include "dapl/support/log.hpp"
#include "dapl/support/settings.hpp"

namespace dapl::scm {
namespace {

struct FreeInterfaces {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

bool is_loopback(in_addr address) {
    return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

/// Without its port, which getifaddrs leaves 0.
sockaddr_in without_rest(in_addr address) {
    sockaddr_in plain{};
    plain.sin_family = AF_INET;
    plain.sin_addr = address;
    return plain;
}

support::Result<sockaddr_in> bind_address(std::string_view ia_name) {
    const std::string text = setting_text(support::Setting::kScmBindAddress);
    in_addr wanted{};
    const bool is_address = inet_pton(AF_INET, text.c_str(), &wanted) == 1;
    const auto all = interfaces();
    const bool is_own = std::ranges::any_of(all, [&](const Interface& interface) {
        return interface.address.sin_addr.s_addr == wanted.s_addr;
    });
    if (is_address && (is_own || is_loopback(wanted))) return without_rest(wanted);
    support::report<support::kBadBindAddress>(ia_name, text);
    return support::failure(raw(DAT_INVALID_ADDRESS), "no address of this machine: " + text);
}

support::Result<sockaddr_in> interface_address(std::string_view ia_name) {
    const std::string name = setting_text(support::Setting::kScmInterface);
    for (const Interface& interface : interfaces())
        if (interface.name == name) return interface.address;
    support::report<support::kNoSuchNetdev>(ia_name, name);
    return support::failure(raw(DAT_INVALID_ADDRESS), "no IPv4 address on " + name);
}

}  // namespace

std::vector<Interface> interfaces() {
    std::vector<Interface> all;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return all;
    const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
        if (!(entry->ifa_flags & IFF_UP)) continue;
        sockaddr_in address{};
        std::memcpy(&address, entry->ifa_addr, sizeof address);
        all.push_back({entry->ifa_name, without_rest(address.sin_addr),
                       (entry->ifa_flags & IFF_LOOPBACK) != 0});
    }
    return all;
}

sockaddr_in preferred_address(const std::vector<Interface>& all) {
    const auto is_ib = [](const Interface& interface) { return interface.name.starts_with("ib"); };
    for (const bool wanted : {false, true})
        for (const Interface& interface : all)
            if (!interface.is_loopback && is_ib(interface) == wanted) return interface.address;
    return without_rest({htonl(INADDR_LOOPBACK)});
}

support::Result<sockaddr_in> own_address(std::string_view ia_name) {
    if (setting_is_set(support::Setting::kScmBindAddress)) return bind_address(ia_name);
    if (setting_is_set(support::Setting::kScmInterface)) return interface_address(ia_name);
    return preferred_address(interfaces());
}

}  // namespace dapl::scm
