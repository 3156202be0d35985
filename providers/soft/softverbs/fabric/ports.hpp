// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The addresses of the devices' ports. They are derived from the fabric's hash, so they are the
/// same for all members: to peers, the devices of all processes are one set of adapters.
#pragma once

#include <infiniband/verbs.h>

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
/// In network order. That of a device is that of its first port.
std::uint64_t guid_of(std::uint64_t fabric_hash, PortId port);
std::uint16_t lid_of(std::uint64_t fabric_hash, PortId port);
union ibv_gid gid_of(std::uint64_t fabric_hash, PortId port);
std::uint16_t lid_of(const Process& process, PortId port);
union ibv_gid gid_of(const Process& process, PortId port);
/// @return the port that has the address; nullopt if none of this fabric has it. Without this check
/// a queue pair number of another fabric would reach a different queue pair here.
std::optional<PortId> port_at(const Process& process, const ibv_ah_attr& address);

}  // namespace softverbs
