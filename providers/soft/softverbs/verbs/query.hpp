// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The attributes and limits of the device, its port and its GID.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "providers/soft/softverbs/fabric/ports.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"

namespace softverbs {

inline constexpr std::uint32_t kMaxWorkRequests = 65536;
inline constexpr std::uint32_t kMaxInline = 1024;
inline constexpr std::uint32_t kMaxMessage = std::uint32_t{1} << 31;
inline constexpr std::uint8_t kMaxReadAtomic = 128;

/// Holds what the answers to queries depend on. A member of the fabric has it from its membership;
/// other processes read it from the index.
struct FabricView {
    std::uint64_t hash = 0;
    DeviceStates states;
};

ibv_device_attr describe_device(std::uint64_t fabric_hash, unsigned device);
ibv_port_attr describe_port(const FabricView& fabric, PortId port);
/// @return nullopt for an index beyond the table.
std::optional<ibv_gid_entry> describe_gid(std::uint64_t fabric_hash, PortId port, unsigned index);
/// @return the P_Key in network order; nullopt for an index beyond the table.
std::optional<__be16> pkey_at(unsigned index);

int query_port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
                          std::size_t length);
int query_device_extended(ibv_context* context, const ibv_query_device_ex_input* input,
                          ibv_device_attr_ex* attributes, std::size_t length);
/// ibv_query_rt_values_ex: the device's clock is CLOCK_MONOTONIC, in nanoseconds.
int query_clock(ibv_context* context, ibv_values_ex* values);

}  // namespace softverbs
