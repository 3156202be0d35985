// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Layout of a wr_id: it names an EP, one of its successive queue pairs and a transfer; or an SRQ
/// and one of its slots. It holds numbers only; no pointer passes through a device.
#pragma once

#include <cstdint>

#include "dapl/transfer/slot_ring.hpp"

namespace dapl {

/// From the top: index of the EP or SRQ (20 bits), incarnation of the side (19), special (1),
/// receive (1), sequence or slot (23). A special request makes no event. It is either the marker,
/// the last request before a graceful disconnect or a flush (sequence 0), or the first half of a
/// pair: the invalidation before a bound RMR is bound again (sequence 1), or a request that another
/// one follows (FollowedBy; sequence 2). A special receive is on an SRQ.
struct WorkRequestId {
    static constexpr std::uint32_t kIndexMask = 0xfffff;
    static constexpr std::uint32_t kIncarnationMask = 0x7ffff;
    static constexpr std::uint64_t kSpecial = std::uint64_t{1} << 24;
    static constexpr std::uint64_t kReceive = std::uint64_t{1} << 23;
    static constexpr int kIndexShift = 44;

    static constexpr std::uint64_t base(std::uint32_t index, std::uint32_t incarnation,
                                        bool receive) {
        return static_cast<std::uint64_t>(index & kIndexMask) << kIndexShift |
               static_cast<std::uint64_t>(incarnation & kIncarnationMask) << 25 |
               (receive ? kReceive : 0);
    }
    static constexpr std::uint32_t kInvalidation = 1;
    static constexpr std::uint32_t kFirstOfPair = 2;
    /// @param id of an ordinary request of the same EP. @param what one of the two sequences above.
    static constexpr std::uint64_t first_half(std::uint64_t id, std::uint32_t what) {
        return (id & ~std::uint64_t{SlotRing::kSequenceMask}) | kSpecial | what;
    }
    static constexpr std::uint64_t shared_base(std::uint32_t srq_index) {
        return base(srq_index, 0, true) | kSpecial;
    }
    explicit constexpr WorkRequestId(std::uint64_t id)
        : index(static_cast<std::uint32_t>(id >> kIndexShift)),
          side_base(id & ~(kSpecial | SlotRing::kSequenceMask)),
          marker((id >> 23 & 3) == 2),
          shared((id >> 23 & 3) == 3),
          receive((id >> 23 & 1) != 0),
          sequence(static_cast<std::uint32_t>(id) & SlotRing::kSequenceMask) {}

    std::uint32_t index;
    std::uint64_t side_base;  ///< Side::work_request_base
    bool marker;
    bool shared;
    bool receive;
    std::uint32_t sequence;
};

}  // namespace dapl
