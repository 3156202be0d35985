// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receive queue: the owner fills slots in its arena, the requester consumes them in order, and
/// a slot is free again when poll_cq has returned its completion.
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/verbs/fault_points.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/transfer.hpp"

namespace softverbs {
int QueuePair::post_receive(ibv_recv_wr* wr, ibv_recv_wr** bad) {
    int cause = 0;
    {
        support::SpinLockGuard lock(receive_lock_);
        for (; wr; wr = wr->next) {
            const ibv_qp_state state = state_.load(std::memory_order_seq_cst);
            const std::uint32_t position = receive_posted_.load(std::memory_order_relaxed);
            const std::uint32_t used = position - receive_completed_.load();
            if (state == IBV_QPS_RESET || srq || wr->num_sge < 0 ||
                static_cast<std::uint32_t>(wr->num_sge) > cap_.max_recv_sge) {
                cause = EINVAL;
            } else if (used >= cap_.max_recv_wr) {
                cause = ENOMEM;
            }
            if (cause != 0) break;
            ReceiveSlot& slot = *receives_.slot(position);
            receive_ids_[position & (receives_.size - 1)] = wr->wr_id;
            slot.num_sge = static_cast<std::uint32_t>(wr->num_sge);
            if (wr->num_sge != 0)
                std::memcpy(slot_segments(&slot), wr->sg_list, wr->num_sge * sizeof(Segment));
            fault_point(FaultPoint::kReceiveWritten);
            receive_posted_.store(position + 1, std::memory_order_relaxed);
            if (receives_are_flushed_)
                post_flushed_receive(receive_flushed_++);
            else
                slot.taker.store(kSlotPosted | position, std::memory_order_seq_cst);
            fault_point(FaultPoint::kReceivePosted);
        }
    }
    if (cause != 0 && bad) *bad = wr;
    wake_requester();
    return cause;
}

void QueuePair::order_after_receives() const {
    const SharedReceiveQueue* shared = shared_queue();
    if (shared)
        (void)shared->ring().shared->posted.load(std::memory_order_acquire);
    else
        order_after_post(*receives_.slot(entry_->consumed));
}

void QueuePair::wake_requester() {
    if (entry_->waiting.load(std::memory_order_seq_cst) == 0) return;
    if (entry_->waiting.exchange(0, std::memory_order_seq_cst) == 0) return;
    support::SpinLockGuard lock(requester_lock_);
    if (requester_) requester_->kick_qp();
}

[[gnu::flatten]] bool QueuePair::finish_receive(const CqEntry& entry, ibv_wc& wc) {
    const std::uint32_t position = read_once(entry.position);
    if (srq) return finish_shared_receive(entry, position, wc);
    // Only this thread advances it, as it holds the completion queue's lock.
    const std::uint32_t expected = receive_completed_.load(std::memory_order_relaxed);
    if (position != expected || position == receive_posted_.load(std::memory_order_relaxed))
        return false;
    ReceiveSlot& slot = *receives_.slot(position);
    order_after_post(slot);
    wc.wr_id = receive_ids_[position & (receives_.size - 1)];
    if (qp_type == IBV_QPT_UD) [[unlikely]]
        describe_datagram(position, wc);
    if (!deliver_directly(entry, slot) && deliver_payload(entry, position) != 0)
        wc.status = IBV_WC_LOC_PROT_ERR;
    receive_completed_.store(position + 1, std::memory_order_release);
    return true;
}

[[gnu::noinline]] bool QueuePair::finish_shared_receive(const CqEntry& entry,
                                                        std::uint32_t position, ibv_wc& wc) {
    SharedReceiveQueue& shared = *shared_queue();
    const std::uint64_t* id = shared.posted_id(position);
    if (!id) return false;
    if (qp_type == IBV_QPT_UD) describe_datagram(position, wc);
    wc.wr_id = *id;
    if (deliver_payload(entry, position) != 0) wc.status = IBV_WC_LOC_PROT_ERR;
    shared.free_slot(position);
    return true;
}

/// Adds the part of a posted segment that a payload fills: `length` bytes behind `skipped`.
/// @return false when the segment's registration has ended.
bool QueuePair::add_place(Places& places, const Segment& segment, std::uint32_t skipped,
                          std::uint32_t length) const {
    const CheckedRange to =
        check_own_key(adapter_, segment.key, receive_pd(), IBV_ACCESS_LOCAL_WRITE, segment.address,
                      skipped + length);
    if (!to.permitted) return false;
    LocalRange& range = places.ranges[places.count++];
    range = {to.address + skipped, length, to.shared, nullptr};
    PeerPages& own = adapter_.own_pages();
    range.here = own.find(to.shared, range.address, length);
    if (!range.here) [[unlikely]]
        range.here = own.map(to.shared, range.address, length);
    places.all_here = places.all_here && range.here;
    return true;
}

/// Copies a payload to its places. The kernel writes memory that is not shared from birth, and so
/// finds out what the program has unmapped or protected.
/// @param data in our arena, unless all places are `here`. @return 0 or EFAULT.
int QueuePair::fill_places(const Places& places, const std::uint8_t* data) const {
    if (places.all_here) {
        scatter({places.ranges, places.count}, data);
        return 0;
    }
    const auto offset = static_cast<std::uint64_t>(data - adapter_.view().base());
    return write_from_file(adapter_.arena_fd(), offset, {places.ranges, places.count});
}

/// Copies a message that came in the queue pair's own queues to the first segment of its receive,
/// where that takes all of it and plain copies reach it, as they usually do. deliver_payload() does
/// everything else. @return whether nothing is left to be done.
bool QueuePair::deliver_directly(const CqEntry& entry, ReceiveSlot& slot) const {
    const std::uint8_t flags = read_once(entry.flags);
    if ((flags & (kInEntry | kInSlot)) == 0) return true;
    const bool in_slot = (flags & kInSlot) != 0;
    const std::uint32_t length = read_once(entry.byte_len);
    const Segment segment = read_once(*slot_segments(&slot));
    if (length > (in_slot ? kSlotInlineBytes : kEntryInlineBytes) || length > segment.length ||
        read_once(slot.num_sge) == 0 || qp_type == IBV_QPT_UD)
        return false;
    const CheckedRange to = check_own_key(adapter_, segment.key, domain().number(),
                                          IBV_ACCESS_LOCAL_WRITE, segment.address, length);
    if (!to.permitted) return false;
    std::uint8_t* const here = adapter_.own_pages().find(to.shared, to.address, length);
    if (!here) return false;
    copy_short(here, in_slot ? slot_inline(&slot, receives_.stride) : entry.payload, length);
    return true;
}

bool QueuePair::is_posted(std::uint32_t position) const {
    if (const SharedReceiveQueue* shared = shared_queue()) return shared->posted_id(position);
    const std::uint32_t completed = receive_completed_.load(std::memory_order_relaxed);
    const std::uint32_t posted = receive_posted_.load(std::memory_order_relaxed);
    return position - completed < posted - completed;
}

int QueuePair::deliver_payload(const CqEntry& entry) {
    const std::uint32_t position = read_once(entry.position);
    return is_posted(position) ? deliver_payload(entry, position) : 0;
}

/// The requester has checked the key as well, but any peer may have overwritten the slot since.
/// Memory that ibv_dereg_mr has withdrawn is not written to any more: the payload is dropped.
[[gnu::noinline]] int QueuePair::deliver_payload(const CqEntry& entry, std::uint32_t position) {
    const std::uint8_t flags = read_once(entry.flags);
    if ((flags & (kInEntry | kInSlot)) == 0) return 0;
    if (qp_type == IBV_QPT_UD) return deliver_datagram(entry, position);
    const ReceiveRing& ring = srq ? shared_queue()->ring() : receives_;
    ReceiveSlot* slot = ring.slot(position);
    if (!slot) return 0;
    order_after_post(*slot);
    const bool in_slot = (flags & kInSlot) != 0;
    std::uint8_t* const data = slot_inline(slot, ring.stride);
    std::uint32_t left =
        std::min(read_once(entry.byte_len), in_slot ? kSlotInlineBytes : kEntryInlineBytes);
    Places places;
    const std::uint32_t count = std::min(read_once(slot->num_sge), ring.max_sge);
    for (std::uint32_t i = 0; i < count && left != 0; ++i) {
        const Segment segment = read_once(slot_segments(slot)[i]);
        const std::uint32_t part = std::min(segment.length, left);
        if (part != 0 && !add_place(places, segment, 0, part)) return 0;
        left -= part;
    }
    if (in_slot) return fill_places(places, data);
    if (places.all_here) return fill_places(places, entry.payload);
    // The entry may be a copy outside the arena; the slot's place for a payload is free to hold it.
    std::memcpy(data, entry.payload, kEntryInlineBytes);
    return fill_places(places, data);
}

void SharedReceiveQueue::wake_attached() {
    support::SpinLockGuard guard(lock_);
    for (QueuePair* qp : attached_) qp->wake_requester();
}

void QueuePair::post_flushed_receive(std::uint32_t slot) {
    Completion completion;
    completion.qp_num = qp_num;
    completion.position = slot;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    receive_queue().post(completion);
}

}  // namespace softverbs
