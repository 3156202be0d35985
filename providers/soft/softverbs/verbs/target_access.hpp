// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A requester uses these functions at its target on behalf of a request, while its Transfer is
/// marked: they check keys and receives, and complete a receive.
#pragma once

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {

/// Checks `length` bytes of the target's memory at `address` under a key that a request names.
/// @param rights IBV_ACCESS_* bits, all of which are needed.
inline CheckedRange check_remote(const Adapter& adapter, const Target& target, std::uint32_t key,
                                 std::uint32_t rights, std::uint64_t address,
                                 std::uint64_t length) {
    const Access wanted{target.pd, rights, target.qp_num, target.generation};
    if (target.peer->is_self()) return check_own_remote_key(adapter, key, wanted, address, length);
    return check_remote_key(target.arena, key, wanted, address, length);
}

/// Checks the first `length` bytes of one of a receive's segments.
inline CheckedRange check_receive(const Adapter& adapter, const Target& target,
                                  const Segment& segment, std::uint64_t length) {
    const SrqHeader* shared = target.receives.shared;
    const std::uint32_t pd = shared ? shared->pd : target.pd;
    constexpr std::uint32_t kAccess = IBV_ACCESS_LOCAL_WRITE;
    if (target.peer->is_self())
        return check_own_key(adapter, segment.key, pd, kAccess, segment.address, length);
    return check_key(target.arena, segment.key, pd, kAccess, segment.address, length);
}

/// Whether the first segment of a receive takes the whole message, as it usually does for a short
/// one.
inline bool first_segment_holds(const Adapter& adapter, const Target& target, ReceiveSlot* receive,
                                std::uint64_t length) {
    if (length == 0) return true;
    const Segment segment = *slot_segments(receive);
    if (receive->num_sge == 0 || segment.length < length) return false;
    return check_receive(adapter, target, segment, length).permitted;
}

/// Whether the receive at this position of the target's own queue has been posted.
inline bool is_posted(const ReceiveSlot& receive, std::uint32_t position) {
    return receive.taker.load(std::memory_order_seq_cst) == (kSlotPosted | position);
}

/// Counts an access to the region that a key names, if its owner wants to know
/// (MrEntry::counts_uses). A window's accesses count for its region.
void note_use(const Target& target, const MrEntry& named);
inline void count_use(const Target& target, std::uint32_t key) {
    const MrEntry& named = target.arena.mr(key);
    if (named.counts_uses.load(std::memory_order_relaxed) != 0) [[unlikely]]
        note_use(target, named);
}

/// Completes the target's receive at Completion::position.
/// @param completion filled in, but for the names of the queue pairs.
/// @param payload of kInEntry.
inline void QueuePair::complete_at_target(Completion& completion, const std::uint8_t* payload) {
    Target& target = target_;
    completion.qp_num = target.names.qp_num;
    completion.src_qp = target.names.src_qp;
    CompletionRing& ring = target.completion_ring();
    const CompletionRing::Place place = ring.claim(target.names.qp_num, Producer::kRequester);
    if (!target.receives.shared)
        target.entry->consumed.store(completion.position + 1, std::memory_order_release);
    fault_point(FaultPoint::kReceiveConsumed);
    if (!place.entry) [[unlikely]] {
        target.completions->overrun.store(1, std::memory_order_release);
        return target.kick_cq();
    }
    if ((completion.flags & kInEntry) != 0)
        copy_short(place.entry->payload, payload, completion.byte_len);
    fault_point(FaultPoint::kPayloadPlaced);
    const Wake wake = ring.publish(place, completion);
    if (wake != Wake::kNone) target.wake(wake);
    if ((completion.flags & (kInEntry | kInSlot)) != 0) note_unplaced(place.position);
}

}  // namespace softverbs
