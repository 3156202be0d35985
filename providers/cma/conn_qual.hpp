// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Connection qualifiers are 64 bits wide, the ports of rdma_cm 16.
#pragma once

#include <cstdint>

namespace dapl::cma {

/// The mapping is part of the wire contract: both ends compute it. Large qualifiers share ports.
constexpr std::uint16_t port_of(std::uint64_t conn_qual) {
    constexpr std::uint64_t kLargestPort = 0xFFFF;
    constexpr std::uint64_t kFirstMapped = 33534;
    constexpr std::uint64_t kMappedPorts = 32001;
    return static_cast<std::uint16_t>(
        conn_qual <= kLargestPort ? conn_qual : conn_qual % kMappedPorts + kFirstMapped);
}

}  // namespace dapl::cma
