// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/device.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <cstring>
#include <memory>

namespace dapl::cma {
namespace {

struct FreeInterfaces {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

/// @param accept decides by an IPv4 entry of the machine's interfaces.
template <class Accept>
std::optional<sockaddr_in> find_interface(Accept accept) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return std::nullopt;
    const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
        sockaddr_in address{};
        std::memcpy(&address, entry->ifa_addr, sizeof address);
        if (accept(*entry, address)) return address;
    }
    return std::nullopt;
}

bool is_loopback(in_addr address) {
    return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

std::optional<sockaddr_in> if_of_this_machine(const sockaddr_in& wanted) {
    if (is_loopback(wanted.sin_addr)) return wanted;
    return find_interface([&](const ifaddrs&, const sockaddr_in& address) {
        return address.sin_addr.s_addr == wanted.sin_addr.s_addr;
    });
}

std::optional<sockaddr_in> address_of_host(const std::string& name) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
    std::optional<sockaddr_in> own;
    for (const addrinfo* entry = found; entry && !own; entry = entry->ai_next) {
        sockaddr_in address{};
        std::memcpy(&address, entry->ai_addr, sizeof address);
        own = if_of_this_machine(address);
    }
    freeaddrinfo(found);
    return own;
}

}  // namespace

std::string_view device_of(std::string_view ia_params) {
    constexpr std::string_view kBlanks = " \t";
    const auto start = ia_params.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return {};
    return ia_params.substr(start, ia_params.find_first_of(kBlanks, start) - start);
}

std::optional<sockaddr_in> address_of_interface(const std::string& name) {
    return find_interface(
        [&](const ifaddrs& entry, const sockaddr_in&) { return name == entry.ifa_name; });
}

std::string interface_of(const sockaddr_in& wanted) {
    std::string name;
    find_interface([&](const ifaddrs& entry, const sockaddr_in& address) {
        if (address.sin_addr.s_addr != wanted.sin_addr.s_addr) return false;
        name = entry.ifa_name;
        return true;
    });
    return name;
}

std::optional<sockaddr_in> address_of(const std::string& device) {
    if (device.empty()) return std::nullopt;
    if (const auto found = address_of_interface(device)) return found;
    sockaddr_in numeric{};
    numeric.sin_family = AF_INET;
    if (inet_pton(AF_INET, device.c_str(), &numeric.sin_addr) == 1)
        return if_of_this_machine(numeric);
    if (const auto found = address_of_rdma_device(device)) return found;
    return address_of_host(device);
}

}  // namespace dapl::cma
