// SPDX-License-Identifier: BSD-2-Clause
#include "device/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstring>

namespace dapl {
namespace {

sockaddr_in in_of(const void* address) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    return in;
}

sockaddr_in6 in6_of(const void* address) {
    sockaddr_in6 in6;
    std::memcpy(&in6, address, sizeof in6);
    return in6;
}

template <class Address>
sockaddr_storage stored(const Address& address) {
    sockaddr_storage result{};
    std::memcpy(&result, &address, sizeof address);
    return result;
}

constexpr std::size_t kLastByteOfScope = offsetof(sockaddr_in6, sin6_scope_id) + 3;
constexpr std::uint8_t kDatagramQueuePair = 4;  // as verbs number the types

std::uint8_t& type_of(sockaddr_in6& in6) {
    return reinterpret_cast<std::uint8_t*>(&in6)[kLastByteOfScope];
}

sockaddr_storage queue_pair_of(const void* given) {
    sockaddr_in6 in6 = in6_of(given);
    in6.sin6_family = AF_INET6;
    in6.sin6_scope_id = 0;
    type_of(in6) = kDatagramQueuePair;
    return stored(in6);
}

sockaddr_storage unmapped(const sockaddr_in6& in6) {
    if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) return stored(in6);
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = in6.sin6_port;
    std::memcpy(&in.sin_addr, &in6.sin6_addr.s6_addr[12], sizeof in.sin_addr);
    return stored(in);
}

/// @return the suffix that names the interface: a link-local address means nothing without it.
std::string scope_of(const sockaddr_in6& in6) {
    if (in6.sin6_scope_id == 0) return {};
    char name[IF_NAMESIZE];
    if (if_indextoname(in6.sin6_scope_id, name)) return "%" + std::string(name);
    return "%" + std::to_string(in6.sin6_scope_id);
}

std::string with_port(const std::string& host, in_port_t port) {
    return port == 0 ? host : host + ":" + std::to_string(ntohs(port));
}

}  // namespace

bool is_queue_pair(const sockaddr_storage& address) {
    if (address.ss_family != AF_INET6) return false;
    sockaddr_in6 in6 = in6_of(&address);
    // No address of a host has flow information here.
    return type_of(in6) == kDatagramQueuePair && in6.sin6_flowinfo != 0;
}

std::string queue_pair_text(const sockaddr_storage& address) {
    const sockaddr_in6 in6 = in6_of(&address);
    char gid[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, &in6.sin6_addr, gid, sizeof gid);
    return "LID " + std::to_string(ntohs(in6.sin6_port)) + ", QPN " +
           std::to_string(ntohl(in6.sin6_flowinfo)) + ", GID " + gid;
}

sockaddr_storage peer_address(const sockaddr* given, const sockaddr_storage& own) {
    if (is_queue_pair(own)) return queue_pair_of(given);
    sockaddr_in in = in_of(given);
    const bool says_ipv6 = in.sin_family == AF_INET6;
    const bool is_ipv6 = own.ss_family == AF_INET6 || in.sin_addr.s_addr == INADDR_ANY;
    if (says_ipv6 && is_ipv6) return unmapped(in6_of(given));
    in.sin_family = AF_INET;
    return stored(in);
}

std::optional<sockaddr_storage> ip_address(const sockaddr* address) {
    if (address && address->sa_family == AF_INET) return stored(in_of(address));
    if (address && address->sa_family == AF_INET6) return stored(in6_of(address));
    return std::nullopt;
}

sockaddr_storage ip_address(const sockaddr_in& address) {
    return stored(address);
}

bool same_host(const sockaddr_storage& a, const sockaddr_storage& b) {
    if (a.ss_family != b.ss_family) return false;
    if (a.ss_family == AF_INET) return in_of(&a).sin_addr.s_addr == in_of(&b).sin_addr.s_addr;
    const sockaddr_in6 one = in6_of(&a);
    const sockaddr_in6 other = in6_of(&b);
    return IN6_ARE_ADDR_EQUAL(&one.sin6_addr, &other.sin6_addr);
}

bool is_any_host(const sockaddr_storage& address) {
    sockaddr_storage any{};
    any.ss_family = address.ss_family;
    return same_host(address, any);
}

bool is_ipv4_loopback(const sockaddr_storage& address) {
    return address.ss_family == AF_INET &&
           ntohl(in_of(&address).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

std::uint16_t port_of(const sockaddr_storage& address) {
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    if (is_queue_pair(address)) return 0;
    return ntohs(in_of(&address).sin_port);
}

void set_port(sockaddr_storage& address, std::uint16_t port) {
    if (is_queue_pair(address)) return;
    const in_port_t wanted = htons(port);
    std::memcpy(reinterpret_cast<char*>(&address) + offsetof(sockaddr_in, sin_port), &wanted,
                sizeof wanted);
}

std::string to_text(const sockaddr_storage& address) {
    if (is_queue_pair(address)) return queue_pair_text(address);
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        const sockaddr_in in = in_of(&address);
        inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
        return with_port(text, in.sin_port);
    }
    if (address.ss_family == AF_INET6) {
        const sockaddr_in6 in6 = in6_of(&address);
        inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
        return with_port("[" + std::string(text) + scope_of(in6) + "]", in6.sin6_port);
    }
    return "an unknown address";
}

}  // namespace dapl
