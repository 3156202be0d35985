// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/device.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "device/address.hpp"
#include "device/device.hpp"
#include "device/interfaces.hpp"

namespace dapl::cma {
namespace {

/// IPv4 first, as programs expect; then the addresses that peers behind a router reach too.
int rank(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) return 0;
    sockaddr_in6 in6;
    std::memcpy(&in6, &address, sizeof in6);
    return IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) ? 2 : 1;
}

void sort_by_rank(std::vector<sockaddr_storage>& addresses) {
    std::stable_sort(addresses.begin(), addresses.end(),
                     [](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

/// A link-local address that names an interface belongs to that interface.
bool same_scope(const sockaddr_storage& wanted, const sockaddr_storage& own) {
    if (wanted.ss_family != AF_INET6) return true;
    const auto scope = [](const sockaddr_storage& address) {
        sockaddr_in6 in6;
        std::memcpy(&in6, &address, sizeof in6);
        return in6.sin6_scope_id;
    };
    return scope(wanted) == 0 || scope(wanted) == scope(own);
}

/// @return the address, with the interface if `wanted` leaves it out.
std::optional<sockaddr_storage> if_of_this_machine(const sockaddr_storage& wanted) {
    if (is_ipv4_loopback(wanted)) return wanted;
    for (const sockaddr_storage& own : own_addresses())
        if (same_host(own, wanted) && same_scope(wanted, own)) return own;
    return std::nullopt;
}

/// @param flags AI_NUMERICHOST in order not to ask the name service.
std::optional<sockaddr_storage> address_of_host(const std::string& name, int flags) {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    std::vector<sockaddr_storage> own;
    for (const addrinfo* entry = found; entry; entry = entry->ai_next)
        if (const auto address = ip_address(entry->ai_addr))
            if (const auto here = if_of_this_machine(*address)) own.push_back(*here);
    sort_by_rank(own);
    if (own.empty()) return std::nullopt;
    return own.front();
}

}  // namespace

DeviceName parse_parameters(std::string_view ia_params) {
    const auto [device, number] = cm::device_name(ia_params);
    DeviceName name{device, 0};
    std::from_chars(number.data(), number.data() + number.size(), name.port);
    return name;
}

std::vector<sockaddr_storage> own_addresses(const std::string& interface) {
    std::vector<sockaddr_storage> result;
    for (const InterfaceAddress& own : interface_addresses())
        if (interface.empty() || interface == own.interface) result.push_back(own.address);
    sort_by_rank(result);
    return result;
}

std::string interface_of(const sockaddr_storage& wanted) {
    for (const InterfaceAddress& own : interface_addresses())
        if (same_host(own.address, wanted)) return own.interface;
    return {};
}

std::optional<AddressChoice> choose_address(const DeviceName& name, const Devices& devices) {
    const auto as = [](NameKind kind, const std::optional<sockaddr_storage>& address) {
        return address ? std::optional(AddressChoice{*address, kind}) : std::nullopt;
    };
    if (name.device.empty()) return std::nullopt;
    if (const auto found = own_addresses(name.device); !found.empty())
        return as(NameKind::kInterface, found.front());
    if (const auto found = address_of_host(name.device, AI_NUMERICHOST))
        return as(NameKind::kAddress, found);
    if (devices.is_rdma_device(name.device))
        return as(NameKind::kRdmaDevice, devices.address_of(name));
    return as(NameKind::kHostName, address_of_host(name.device, 0));
}

std::string reason_for(const AddressChoice& choice, const DeviceName& name) {
    switch (choice.kind) {
        case NameKind::kInterface: {
            const std::size_t all = own_addresses(name.device).size();
            return "the first of " + std::to_string(all) + " of the network interface " +
                   name.device + " (IPv4 first, link-local last)";
        }
        case NameKind::kAddress:
            return "as given in ia_params";
        case NameKind::kRdmaDevice:
            return "the first that rdma_cm binds to the RDMA device " + name.device;
        case NameKind::kHostName:
            return "the name service's answer for " + name.device;
    }
    return {};
}

}  // namespace dapl::cma
