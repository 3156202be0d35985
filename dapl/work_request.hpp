// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a wr_id says: which EP, which of its queue pairs, which transfer. Numbers only; no pointer
/// goes through a device.
#pragma once

#include <cstdint>

#include "dapl/slot_ring.hpp"

namespace dapl {

/// From the top: EP index (20 bits), incarnation of the side (20), receive (1), sequence (23).
struct WorkRequestId {
    static constexpr std::uint32_t kIndexMask = 0xfffff;
    static constexpr std::uint32_t kIncarnationMask = 0xfffff;

    static constexpr std::uint64_t base(std::uint32_t index, std::uint32_t incarnation,
                                        bool receive) {
        return static_cast<std::uint64_t>(index & kIndexMask) << 44 |
               static_cast<std::uint64_t>(incarnation & kIncarnationMask) << 24 |
               static_cast<std::uint64_t>(receive) << 23;
    }
    explicit constexpr WorkRequestId(std::uint64_t id)
        : index(static_cast<std::uint32_t>(id >> 44)),
          incarnation(static_cast<std::uint32_t>(id >> 24) & kIncarnationMask),
          receive((id >> 23 & 1) != 0),
          sequence(static_cast<std::uint32_t>(id) & SlotRing::kSequenceMask) {}

    std::uint32_t index;
    std::uint32_t incarnation;
    bool receive;
    std::uint32_t sequence;
};

}  // namespace dapl
