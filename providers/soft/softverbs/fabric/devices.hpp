// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The devices that this process sees, soft0 and following, and their loopback addresses. All of
/// them share the one arena of the process; they differ in their names and addresses. A fabric has
/// all that there can be: a process sees only as many as it asks for, and reaches the others.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>
#include <string_view>

namespace softverbs {

inline constexpr unsigned kMostDevices = 16;
inline constexpr unsigned kMostPorts = 2;

/// How many devices this process sees (SOFTVERBS_DEVICES), each with so many ports
/// (SOFTVERBS_PORTS). Decided once per process.
unsigned device_count();
unsigned port_count();

std::string device_name(unsigned device);
/// @return nullopt unless it is a name of one of the first `count` devices.
std::optional<unsigned> device_named(std::string_view name, unsigned count);

/// @return 127.0.0.1 for soft0, 127.0.0.2 for soft1, and so on.
in6_addr loopback_of(unsigned device);
/// @return the device that has the address: soft0 has those that no other one has.
unsigned device_at(const in6_addr& address);

}  // namespace softverbs
