// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Takes a receive out of a shared receive queue. Any process that has the queue's arena mapped may
/// do so.
#pragma once

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"

namespace softverbs {

/// @return the value of ReceiveSlot::taker of a slot posted at this position that nobody has taken.
constexpr std::uint64_t free_at(std::uint32_t position) {
    return std::uint64_t{position} << 32;
}

/// Takes the oldest receive for the queue pair `qp_num` of the ring's owner. Sets `index` to the
/// slot's number, and `limit_reached` to whether this call crossed the limit.
/// @param accept (slot): false leaves the receive where it is, for a message that fits.
/// @return the slot, nullptr when none is posted or it was not accepted.
template <class Accept>
ReceiveSlot* take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 std::uint32_t& index, bool& limit_reached, const Accept& accept) {
    constexpr int kMaxAttempts = 1 << 20;  // garbage that a peer wrote must not loop for ever
    SrqHeader& header = *ring.shared;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        std::uint32_t head = header.head.load(std::memory_order_acquire);
        const std::uint32_t posted = header.posted.load(std::memory_order_seq_cst);
        if (head == posted) return nullptr;
        // Read after `posted`: an order that was replaced lacks what was posted since.
        const RingPlace place = RingPlace::decode(header.order.load(std::memory_order_seq_cst));
        const auto* order = ring.arena.array<std::atomic<std::uint32_t>>(
            place.offset, std::uint64_t{place.size()} * sizeof(std::uint32_t));
        if (!order) return nullptr;
        index = order[head & (place.size() - 1)].load(std::memory_order_acquire);
        ReceiveSlot* slot = ring.slot(index);
        if (!slot) return nullptr;
        fault_point(FaultPoint::kSharedReceiveLooked);
        std::uint64_t expected = free_at(head);
        // A refusal counts only while nobody has taken the receive: accept() may have seen a later
        // one in the slot.
        const bool is_refused = !accept(*slot);
        if (is_refused && slot->taker.load(std::memory_order_acquire) == expected) return nullptr;
        const bool mine =
            !is_refused && slot->taker.compare_exchange_strong(expected, free_at(head) | qp_num,
                                                               std::memory_order_acq_rel);
        if (mine) fault_point(FaultPoint::kSharedReceiveTaken);
        // Whoever took this position, the head may advance past it. If our view of the head is old,
        // the exchange fails.
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
