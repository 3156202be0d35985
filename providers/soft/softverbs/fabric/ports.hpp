// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The addresses of the devices' ports. They are derived from the fabric's hash, so they are the
/// same for all members: to peers, the devices of all processes are one set of adapters.
#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <optional>

#include "providers/soft/softverbs/fabric/devices.hpp"

namespace softverbs {

class Process;

/// A port of one of the fabric's devices.
struct PortId {
    unsigned device = 0;
    unsigned port = 1;

    unsigned index() const { return kMostPorts * device + port - 1; }
    static PortId at(unsigned index) { return {index / kMostPorts, index % kMostPorts + 1}; }
};
inline constexpr unsigned kMostPortIds = kMostDevices * kMostPorts;

/// Whether the devices that this process sees have such a port.
bool is_port(unsigned port);
/// The number of a port's GIDs. A port of InfiniBand has one. A port of RoCE has a link-local
/// address and an IPv4 address, each for RoCE v1 and for RoCE v2, in this order.
unsigned gid_count();
ibv_gid_type gid_type_at(unsigned index);
inline constexpr unsigned kMappedGid = 2;  ///< the first GID with the IPv4 address
/// @return the index of the GID that rdma_cm uses for connections of an IP address: RoCE v2.
unsigned gid_index_for(const in6_addr& address);
bool is_mapped(const union ibv_gid& gid);
/// Whether it is the GID of a multicast group. On RoCE an IPv4 group may be mapped.
bool is_group(const union ibv_gid& gid);
/// @return the device with this port address of RoCE, 127.a.b.n with a other than 0; else 0.
unsigned device_of_port_address(const in6_addr& address);

/// In network order. That of a device is that of its first port.
std::uint64_t guid_of(std::uint64_t fabric_hash, PortId port);
/// The LIDs of a fabric: the first one, and the bits of PortId::index() that are added to it. On
/// RoCE both are 0, so each port has the LID 0, without a branch where datagrams are polled.
struct Lids {
    std::uint16_t first = 0;
    std::uint16_t index_bits = 0;

    std::uint16_t of(PortId port) const {
        return static_cast<std::uint16_t>(first + (port.index() & index_bits));
    }
};
Lids lids_of(std::uint64_t fabric_hash);
/// @param index less than gid_count().
union ibv_gid gid_of(std::uint64_t fabric_hash, PortId port, unsigned index = 0);
std::uint16_t lid_of(const Process& process, PortId port);
union ibv_gid gid_of(const Process& process, PortId port, unsigned index = 0);
/// Whether the port's link can use this path: the index of its GID exists; on RoCE it has a global
/// route header, whose two addresses are of one kind.
bool is_path(const ibv_ah_attr& address);
/// @return the port that has the address; nullopt if none of this fabric has it. Without this check
/// a queue pair number of another fabric would reach a different queue pair here.
std::optional<PortId> port_at(const Process& process, const ibv_ah_attr& address);

}  // namespace softverbs
