// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/ports.hpp"

#include <endian.h>

#include <cstring>

#include "providers/soft/softverbs/fabric/process.hpp"

namespace softverbs {
namespace {

/// GUIDs are alike in all but these bits, which have PortId::index().
constexpr std::uint64_t kGuidBits = kMostPortIds - 1;
constexpr std::uint64_t kLocallyAdministered = std::uint64_t{0x0200} << 48;
constexpr std::uint64_t kLinkLocalPrefix = std::uint64_t{0xfe80} << 48;
constexpr std::uint64_t kSubnetBits = 0xffffffffffff;
constexpr std::uint16_t kUnicastLids = 0xbfff;

std::uint64_t first_guid(std::uint64_t fabric_hash) {
    return (fabric_hash | kLocallyAdministered) & ~kGuidBits;
}

std::uint64_t subnet_prefix(std::uint64_t fabric_hash) {
    // A link-local IPv6 address has no bits there.
    return htobe64(kLinkLocalPrefix | (is_roce() ? 0 : fabric_hash & kSubnetBits));
}

/// The IPv4 addresses of ports on RoCE are 127.a.b.n: a and b follow from the fabric's hash, so
/// that another fabric has others, and a is not 0, so that they are none of loopback_of(). n is 1 +
/// PortId::index().
std::uint32_t first_ipv4(std::uint64_t fabric_hash) {
    const auto a = static_cast<std::uint32_t>(1 + (fabric_hash >> 8) % 255);
    const auto b = static_cast<std::uint32_t>(fabric_hash & 0xff);
    return std::uint32_t{IN_LOOPBACKNET} << 24 | a << 16 | b << 8 | 1;
}

std::uint32_t ipv4_in(const std::uint8_t* address) {
    std::uint32_t ipv4;
    std::memcpy(&ipv4, address + 12, sizeof ipv4);
    return be32toh(ipv4);
}

union ibv_gid mapped_gid(std::uint64_t fabric_hash, PortId port) {
    union ibv_gid gid {};
    const std::uint32_t ipv4 = htobe32(first_ipv4(fabric_hash) + port.index());
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, &ipv4, sizeof ipv4);
    return gid;
}

std::optional<PortId> port_with(std::uint64_t fabric_hash, const union ibv_gid& gid) {
    if (is_roce() && is_mapped(gid)) {
        const std::uint32_t index = ipv4_in(gid.raw) - first_ipv4(fabric_hash);
        return index < kMostPortIds ? std::optional(PortId::at(index)) : std::nullopt;
    }
    const std::uint64_t guid = be64toh(gid.global.interface_id);
    const bool is_ours = gid.global.subnet_prefix == subnet_prefix(fabric_hash) &&
                         (guid & ~kGuidBits) == first_guid(fabric_hash);
    return is_ours ? std::optional(PortId::at(guid & kGuidBits)) : std::nullopt;
}

bool is_link_local(const union ibv_gid& gid) {
    return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

/// The kernel finds no route between an IPv4 and an IPv6 address. For a link-local address on RoCE
/// v1 it needs none, as that contains the address of the interface.
bool has_route(const ibv_global_route& route) {
    if (is_group(route.dgid)) return true;
    const bool is_v1 = gid_type_at(route.sgid_index) == IBV_GID_TYPE_ROCE_V1;
    if (is_v1 && is_link_local(route.dgid)) return true;
    return (route.sgid_index >= kMappedGid) == is_mapped(route.dgid);
}

}  // namespace

bool is_port(unsigned port) {
    return port >= 1 && port <= port_count();
}

std::uint64_t guid_of(std::uint64_t fabric_hash, PortId port) {
    return htobe64(first_guid(fabric_hash) | port.index());
}

unsigned gid_count() {
    return is_roce() ? 2 * kMappedGid : 1;
}

ibv_gid_type gid_type_at(unsigned index) {
    if (!is_roce()) return IBV_GID_TYPE_IB;
    return index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

unsigned gid_index_for(const in6_addr& address) {
    if (!is_roce()) return 0;
    return IN6_IS_ADDR_V4MAPPED(&address) ? kMappedGid + 1 : 1;
}

bool is_mapped(const union ibv_gid& gid) {
    return IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(gid.raw));
}

bool is_group(const union ibv_gid& gid) {
    return gid.raw[0] == 0xff || (is_roce() && is_mapped(gid) && IN_MULTICAST(ipv4_in(gid.raw)));
}

unsigned device_of_port_address(const in6_addr& address) {
    const std::uint32_t ipv4 = ipv4_in(address.s6_addr);
    const bool is_one = IN6_IS_ADDR_V4MAPPED(&address) && ipv4 >> 24 == IN_LOOPBACKNET &&
                        (ipv4 >> 16 & 0xff) != 0 && (ipv4 & 0xff) != 0;
    return is_one ? PortId::at((ipv4 & 0xff) - 1).device : 0;
}

Lids lids_of(std::uint64_t fabric_hash) {
    if (is_roce()) return {};
    return {static_cast<std::uint16_t>(1 + fabric_hash % (kUnicastLids - kMostPortIds)),
            kMostPortIds - 1};
}

union ibv_gid gid_of(std::uint64_t fabric_hash, PortId port, unsigned index) {
    if (index >= kMappedGid) return mapped_gid(fabric_hash, port);
    union ibv_gid gid;
    gid.global.subnet_prefix = subnet_prefix(fabric_hash);
    gid.global.interface_id = guid_of(fabric_hash, port);
    return gid;
}

std::uint16_t lid_of(const Process& process, PortId port) {
    return process.lids().of(port);
}

union ibv_gid gid_of(const Process& process, PortId port, unsigned index) {
    return gid_of(process.fabric_hash(), port, index);
}

bool is_path(const ibv_ah_attr& address) {
    if (!address.is_global) return !is_roce();
    return address.grh.sgid_index < gid_count() && (!is_roce() || has_route(address.grh));
}

std::optional<PortId> port_at(const Process& process, const ibv_ah_attr& address) {
    if (address.is_global) return port_with(process.fabric_hash(), address.grh.dgid);
    const unsigned index = unsigned{address.dlid} - process.lids().first;
    return index < kMostPortIds ? std::optional(PortId::at(index)) : std::nullopt;
}

}  // namespace softverbs
