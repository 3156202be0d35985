// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Taking a receive out of a shared receive queue, as any process may that has its arena mapped.
#pragma once

#include "providers/soft/softverbs/verbs/fault_points.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"

namespace softverbs {

/// A slot's taker while nobody has it.
constexpr std::uint64_t free_at(std::uint32_t position) {
    return std::uint64_t{position} << 32;
}

/// Takes the oldest receive for the queue pair `qp_num` of the ring's owner.
/// @param accept (slot): false leaves the receive where it is, for a message that fits.
/// @return the slot, nullptr when none is posted. Sets `index` to its number, and `limit_reached`
/// for the one that meets the limit.
template <class Accept>
ReceiveSlot* take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 std::uint32_t& index, bool& limit_reached, const Accept& accept) {
    constexpr int kMaxAttempts = 1 << 20;  // a peer's nonsense must not hold us for ever
    SrqHeader& header = *ring.shared;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        std::uint32_t head = header.head.load(std::memory_order_acquire);
        const std::uint32_t posted = header.posted.load(std::memory_order_seq_cst);
        if (head == posted) return nullptr;
        // After `posted`: an order that was replaced does not have what was posted since.
        const RingPlace place = RingPlace::decode(header.order.load(std::memory_order_seq_cst));
        const auto* order = ring.arena.array<std::atomic<std::uint32_t>>(
            place.offset, std::uint64_t{place.size()} * sizeof(std::uint32_t));
        if (!order) return nullptr;
        index = order[head & (place.size() - 1)].load(std::memory_order_acquire);
        ReceiveSlot* slot = ring.slot(index);
        if (!slot) return nullptr;
        std::uint64_t expected = free_at(head);
        // What was looked at is this receive only as long as nobody has taken it.
        const bool is_refused = !accept(*slot);
        if (is_refused && slot->taker.load(std::memory_order_acquire) == expected) return nullptr;
        const bool mine =
            !is_refused && slot->taker.compare_exchange_strong(expected, free_at(head) | qp_num,
                                                               std::memory_order_acq_rel);
        if (mine) fault_point(FaultPoint::kSharedReceiveTaken);
        // Taken by somebody else at this position, or our view of the head is old: both ways the
        // head, if it still is there, may move on.
        header.head.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel);
        if (!mine) continue;
        fault_point(FaultPoint::kSharedHeadMoved);
        limit_reached = crosses_srq_limit(header, posted - head - 1);
        if (limit_reached) fault_point(FaultPoint::kSharedLimitDisarmed);
        return slot;
    }
    return nullptr;
}

}  // namespace softverbs
