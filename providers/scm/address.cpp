// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>

#include "dapl/base/codes.hpp"
#include "device/address.hpp"
#include "device/interfaces.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dapl::scm {
namespace {

using support::Setting;

sockaddr_in ipv4(const sockaddr_storage& address) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return in;
}

sockaddr_in ipv4(in_addr address) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr = address;
    return in;
}

support::Result<sockaddr_in> bind_address(std::string_view ia_name) {
    const std::string text = setting_text(Setting::kScmBindAddress, ia_name);
    in_addr wanted{};
    const bool is_address = inet_pton(AF_INET, text.c_str(), &wanted) == 1;
    const auto all = interfaces();
    const bool is_own = std::ranges::any_of(all, [&](const Interface& interface) {
        return interface.address.sin_addr.s_addr == wanted.s_addr;
    });
    if (is_address && (is_own || is_ipv4_loopback(ip_address(ipv4(wanted))))) return ipv4(wanted);
    support::report<support::kBadBindAddress>(ia_name, text);
    return support::failure(raw(DAT_INVALID_ADDRESS), "not an address of this machine: " + text);
}

/// The address takes precedence over the interface, unless the interface is set by a source of
/// higher priority.
bool has_interface(std::string_view ia_name) {
    return setting_is_set(Setting::kScmInterface, ia_name) &&
           !setting_is_superseded(Setting::kScmInterface, Setting::kScmBindAddress, ia_name);
}

support::Result<sockaddr_in> interface_address(std::string_view ia_name) {
    const std::string name = setting_text(Setting::kScmInterface, ia_name);
    for (const Interface& interface : interfaces())
        if (interface.name == name) return interface.address;
    support::report<support::kNoSuchNetdev>(ia_name, name);
    return support::failure(raw(DAT_INVALID_ADDRESS), "no IPv4 address on " + name);
}

}  // namespace

std::vector<Interface> interfaces() {
    std::vector<Interface> all;
    for (const InterfaceAddress& own : interface_addresses())
        if (own.address.ss_family == AF_INET && (own.flags & IFF_UP) != 0)
            all.push_back({own.interface, ipv4(own.address), (own.flags & IFF_LOOPBACK) != 0});
    return all;
}

sockaddr_in preferred_address(const std::vector<Interface>& all) {
    const auto is_ib = [](const Interface& interface) { return interface.name.starts_with("ib"); };
    for (const bool wanted : {false, true})
        for (const Interface& interface : all)
            if (!interface.is_loopback && is_ib(interface) == wanted) return interface.address;
    return ipv4(in_addr{htonl(INADDR_LOOPBACK)});
}

bool has_bind_address(std::string_view ia_name) {
    return setting_is_set(Setting::kScmBindAddress, ia_name) && !has_interface(ia_name);
}

support::Result<sockaddr_in> own_address(std::string_view ia_name) {
    if (has_bind_address(ia_name)) return bind_address(ia_name);
    if (has_interface(ia_name)) return interface_address(ia_name);
    return preferred_address(interfaces());
}

}  // namespace dapl::scm
