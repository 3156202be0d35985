// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/ports.hpp"

#include <endian.h>

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
    return htobe64(kLinkLocalPrefix | (fabric_hash & kSubnetBits));
}

std::uint16_t first_lid(std::uint64_t fabric_hash) {
    return static_cast<std::uint16_t>(1 + fabric_hash % (kUnicastLids - kMostPortIds));
}

}  // namespace

bool is_port(unsigned port) {
    return port >= 1 && port <= port_count();
}

std::uint64_t guid_of(std::uint64_t fabric_hash, PortId port) {
    return htobe64(first_guid(fabric_hash) | port.index());
}

std::uint16_t lid_of(std::uint64_t fabric_hash, PortId port) {
    return static_cast<std::uint16_t>(first_lid(fabric_hash) + port.index());
}

union ibv_gid gid_of(std::uint64_t fabric_hash, PortId port) {
    union ibv_gid gid;
    gid.global.subnet_prefix = subnet_prefix(fabric_hash);
    gid.global.interface_id = guid_of(fabric_hash, port);
    return gid;
}

std::uint16_t lid_of(const Process& process, PortId port) {
    return lid_of(process.fabric_hash(), port);
}

union ibv_gid gid_of(const Process& process, PortId port) {
    return gid_of(process.fabric_hash(), port);
}

std::optional<PortId> port_at(const Process& process, const ibv_ah_attr& address) {
    const std::uint64_t hash = process.fabric_hash();
    if (!address.is_global) {
        const unsigned index = unsigned{address.dlid} - first_lid(hash);
        return index < kMostPortIds ? std::optional(PortId::at(index)) : std::nullopt;
    }
    const std::uint64_t guid = be64toh(address.grh.dgid.global.interface_id);
    const bool is_ours = address.grh.dgid.global.subnet_prefix == subnet_prefix(hash) &&
                         (guid & ~kGuidBits) == first_guid(hash);
    return is_ours ? std::optional(PortId::at(guid & kGuidBits)) : std::nullopt;
}

}  // namespace softverbs
