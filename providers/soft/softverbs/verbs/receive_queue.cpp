// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receive queue: the owner fills slots in its arena, the requester consumes them in order, and
/// a slot is free again when poll_cq has returned its completion.
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/delivery.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"

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
            } else if (used >= receive_limit_) [[unlikely]] {
                cause = refuse_receive(used);
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
    if (const SharedReceiveQueue* shared = shared_queue())
        shared->order_after_posts();
    else if (recv_cq)
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

[[gnu::noinline]] int QueuePair::deliver_payload(const CqEntry& entry, std::uint32_t position) {
    if (qp_type != IBV_QPT_UD)
        return deliver(adapter_, srq ? shared_queue()->ring() : receives_, receive_pd(), entry,
                       position);
    const std::uint8_t flags = read_once(entry.flags);
    return (flags & (kInEntry | kInSlot)) != 0 ? deliver_datagram(entry, position) : 0;
}

SharedReceiveQueue* QueuePair::xrc_queue(std::uint32_t srq_num) const {
    return xrc_domain_ && srq_num != 0 ? xrc_domain_->queue(srq_num) : nullptr;
}

bool QueuePair::receives_in(const CompletionQueue& cq) const {
    if (!xrc_domain_) return recv_cq == &cq;
    bool found = false;
    xrc_domain_->each_queue(
        [&](const SharedReceiveQueue& queue) { found = found || queue.completes_in(cq); });
    return found;
}

void SharedReceiveQueue::wake_attached() {
    if (is_xrc()) return domain()->wake_requesters();
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
