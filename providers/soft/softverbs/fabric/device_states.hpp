// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records what somebody has done to the devices of a fabric by softverbs(1): ports without a link,
/// removed devices. The index keeps it, for all members and for those that come later.
#pragma once

#include <array>
#include <cstdint>

#include "providers/soft/softverbs/fabric/ports.hpp"

namespace softverbs {

struct DeviceStates {
    std::uint32_t down = 0;     ///< bit PortId::index(): the port has no link
    std::uint32_t removed = 0;  ///< a bit for each device

    bool is_removed(unsigned device) const { return (removed >> device & 1) != 0; }
    /// Whether nothing comes and goes over the port.
    bool is_down(PortId port) const {
        return (down >> port.index() & 1) != 0 || is_removed(port.device);
    }
    void set_link(PortId port, bool is_up) { set(down, port.index(), !is_up); }
    void set_removed(unsigned device, bool is_removed) { set(removed, device, is_removed); }

    std::uint64_t encode() const { return std::uint64_t{removed} << 32 | down; }
    static DeviceStates decode(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
    }
    friend bool operator==(const DeviceStates&, const DeviceStates&) = default;

  private:
    static void set(std::uint32_t& bits, unsigned bit, bool value) {
        bits = (bits & ~(1u << bit)) | std::uint32_t{value} << bit;
    }
};
static_assert(kMostPortIds <= 32);

/// Counts how often each port of the fabric, by PortId::index(), has lost its link.
using LinkLosses = std::array<std::uint32_t, kMostPortIds>;

}  // namespace softverbs
