// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The devices that this process sees, soft0 and following, and their loopback addresses. All of
/// them share the one arena of the process; they differ in their names and addresses. A fabric has
/// all that there can be: a process sees only as many as it asks for, and reaches the others.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softverbs {

inline constexpr unsigned kMostDevices = 16;
inline constexpr unsigned kMostPorts = 2;

/// Returns how many devices this process sees (SOFTVERBS_DEVICES), each with so many ports
/// (SOFTVERBS_PORTS). Decided once per process.
unsigned device_count();
unsigned port_count();

std::string device_name(unsigned device);
/// @return nullopt unless it is a name of one of the first `count` devices.
std::optional<unsigned> device_named(std::string_view name, unsigned count);

/// The link layer of all devices of a fabric.
enum class LinkLayer : std::uint32_t { kInfiniBand, kRoce };

/// The link layer that this process expects (SOFTVERBS_LINK). It is that of the fabric, since a
/// process with another one cannot join. Decided once per process.
LinkLayer link_layer();
inline bool is_roce() {
    return link_layer() == LinkLayer::kRoce;
}
/// @return the value of SOFTVERBS_LINK.
const char* to_text(LinkLayer link);
/// @return nullopt for another text.
std::optional<LinkLayer> parse_link_layer(std::string_view text);

/// @return 127.0.0.1 for soft0, 127.0.0.2 for soft1, and so on.
in6_addr loopback_of(unsigned device);
/// @return the device that has the address: soft0 has those that no other one has. On RoCE a device
/// also has the IPv4 addresses in the GIDs of its ports (ports.hpp).
unsigned device_at(const in6_addr& address);

}  // namespace softverbs
