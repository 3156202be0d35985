// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>

#include <cstring>

namespace softverbs {

in6_addr mapped(const in_addr& address) {
    in6_addr result = in6addr_any;
    result.s6_addr[10] = result.s6_addr[11] = 0xff;
    std::memcpy(&result.s6_addr[12], &address, sizeof address);
    return result;
}

bool same_address(const in6_addr& a, const in6_addr& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

bool is_any(const in6_addr& address) {
    return same_address(address, in6addr_any) || same_address(address, mapped({INADDR_ANY}));
}

bool same_family(const in6_addr& a, const in6_addr& b) {
    return static_cast<bool>(IN6_IS_ADDR_V4MAPPED(&a)) ==
           static_cast<bool>(IN6_IS_ADDR_V4MAPPED(&b));
}

bool is_of_this_machine(const in6_addr& address) {
    return is_loopback(address) || is_local(address);
}

bool is_loopback(const in6_addr& address) {
    return same_address(address, in6addr_loopback) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

bool is_multicast(const in6_addr& address) {
    if (IN6_IS_ADDR_V4MAPPED(&address)) return (address.s6_addr[12] & 0xf0) == 0xe0;
    return address.s6_addr[0] == 0xff;
}

bool is_local(const in6_addr& address) {
    ifaddrs* interfaces = nullptr;
    if (getifaddrs(&interfaces) != 0) return false;
    bool found = false;
    for (const ifaddrs* entry = interfaces; entry && !found; entry = entry->ifa_next) {
        const auto own = entry->ifa_addr ? address_of(entry->ifa_addr) : std::nullopt;
        found = own && same_address(*own, address);
    }
    freeifaddrs(interfaces);
    return found;
}

std::string text_of(const in6_addr& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (IN6_IS_ADDR_V4MAPPED(&address))
        inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof text);
    else
        inet_ntop(AF_INET6, &address, text, sizeof text);
    return text;
}

std::optional<in6_addr> parse_address(const std::string& text) {
    in_addr v4;
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return mapped(v4);
    in6_addr v6;
    if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return v6;
    return std::nullopt;
}

std::optional<in6_addr> address_of(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, address, sizeof v4);
        return mapped(v4.sin_addr);
    }
    if (address->sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    return v6.sin6_addr;
}

std::uint16_t port_of(const sockaddr* address) {
    // The port is at the same offset in sockaddr_in and sockaddr_in6.
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6) return 0;
    sockaddr_in head;
    std::memcpy(&head, address, sizeof head);
    return ntohs(head.sin_port);
}

void fill(sockaddr_storage& to, const in6_addr& address, std::uint16_t port) {
    to = {};
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        sockaddr_in v4 = {};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, &address.s6_addr[12], sizeof v4.sin_addr);
        std::memcpy(&to, &v4, sizeof v4);
        return;
    }
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = address;
    std::memcpy(&to, &v6, sizeof v6);
}

}  // namespace softverbs
