// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receive queue: the owner fills slots in its arena, the requester consumes them in order, and
/// a slot is free again when poll_cq has returned its completion.
#include <cerrno>
#include <cstring>

#include "providers/soft/verbs/fault_points.hpp"
#include "providers/soft/verbs/memory_regions.hpp"
#include "providers/soft/verbs/queue_pair.hpp"
#include "providers/soft/verbs/transfer.hpp"

namespace softverbs {
int QueuePair::post_receive(ibv_recv_wr* wr, ibv_recv_wr** bad) {
    int cause = 0;
    {
        support::SpinLockGuard lock(receive_lock_);
        for (; wr; wr = wr->next) {
            const ibv_qp_state state = state_.load(std::memory_order_seq_cst);
            const std::uint32_t used = receive_posted_ - receive_completed_.load();
            if (state == IBV_QPS_RESET || srq || wr->num_sge < 0 ||
                static_cast<std::uint32_t>(wr->num_sge) > cap_.max_recv_sge) {
                cause = EINVAL;
            } else if (used >= cap_.max_recv_wr) {
                cause = ENOMEM;
            }
            if (cause != 0) break;
            ReceiveSlot& slot = *receives_.slot(receive_posted_);
            receive_ids_[receive_posted_ & (receives_.size - 1)] = wr->wr_id;
            slot.num_sge = static_cast<std::uint32_t>(wr->num_sge);
            if (wr->num_sge != 0)
                std::memcpy(slot_segments(&slot), wr->sg_list, wr->num_sge * sizeof(Segment));
            fault_point(FaultPoint::kReceiveWritten);
            ++receive_posted_;
            if (receives_are_flushed_)
                post_flushed_receive(receive_flushed_++);
            else
                slot.taker.store(kSlotPosted | (receive_posted_ - 1), std::memory_order_seq_cst);
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
        (void)receives_.slot(entry_->consumed)->taker.load(std::memory_order_acquire);
}

void QueuePair::wake_requester() {
    if (entry_->waiting.load(std::memory_order_seq_cst) == 0) return;
    if (entry_->waiting.exchange(0, std::memory_order_seq_cst) == 0) return;
    support::SpinLockGuard lock(requester_lock_);
    if (requester_) requester_->kick_qp();
}

[[gnu::flatten]] bool QueuePair::finish_receive(const CqEntry& entry, ibv_wc& wc) {
    const bool has_payload = (entry.flags & (kInEntry | kInSlot)) != 0;
    if (SharedReceiveQueue* shared = shared_queue()) {
        const std::uint64_t* id = shared->posted_id(entry.position);
        if (!id) return false;
        wc.wr_id = *id;
        if (has_payload) deliver_payload(entry);
        shared->free_slot(entry.position);
        return true;
    }
    const std::uint32_t slot = receive_completed_.load(std::memory_order_relaxed);
    if (entry.position != slot) return false;
    // What the post wrote came here by way of another process: in this one it is this word that
    // orders the two threads.
    (void)receives_.slot(slot)->taker.load(std::memory_order_acquire);
    if (qp_type == IBV_QPT_UD) describe_datagram(entry, wc);
    wc.wr_id = receive_ids_[slot & (receives_.size - 1)];
    if (has_payload) deliver_payload(entry);
    receive_completed_.store(slot + 1, std::memory_order_release);
    return true;
}

/// The requester has checked the key as well, but what stands in the slot may be anybody's by now.
/// ibv_dereg_mr delivers what waits here before it forgets the key (Adapter::own_key).
void QueuePair::deliver_payload(const CqEntry& entry) {
    if (qp_type == IBV_QPT_UD) return deliver_datagram(entry);
    const ReceiveRing& ring = srq ? shared_queue()->ring() : receives_;
    ReceiveSlot* slot = ring.slot(entry.position);
    if (!slot) return;
    const bool in_slot = (entry.flags & kInSlot) != 0;
    const std::uint8_t* data = in_slot ? slot_inline(slot, ring.stride) : entry.payload;
    ibv_pd* domain = srq ? shared_queue()->pd : this->pd;
    const std::uint32_t pd = ProtectionDomain::of(domain).number();
    std::uint32_t left = std::min(entry.byte_len, in_slot ? kSlotInlineBytes : kEntryInlineBytes);
    const std::uint32_t count = std::min(slot->num_sge, ring.max_sge);
    for (std::uint32_t i = 0; i < count && left != 0; ++i) {
        const Segment segment = slot_segments(slot)[i];
        const std::uint32_t part = std::min(segment.length, left);
        if (part == 0) continue;
        const CheckedRange to =
            check_own_key(adapter_, segment.key, pd, IBV_ACCESS_LOCAL_WRITE, segment.address, part);
        if (!to.permitted) return;
        copy_short(reinterpret_cast<void*>(to.address), data, part);
        data += part;
        left -= part;
    }
}

void QueuePair::post_flushed_receive(std::uint32_t slot) {
    Completion completion;
    completion.qp_num = qp_num;
    completion.position = slot;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    receive_queue().post(completion);
}

void QueuePair::wait_for_producers() {
    { support::SpinLockGuard lock(send_lock_); }
    { support::SpinLockGuard lock(receive_lock_); }
    wait_for_requester();
}

/// One that has been stopped in the middle of a request, or pretends to be at work, is cut off:
/// whoever waits here must not for ever.
void QueuePair::wait_for_requester() const {
    constexpr int kTurnsBeforeDoubt = 4096;
    const std::uint32_t begun = entry_->busy.load(std::memory_order_seq_cst);
    Deadline end{};
    for (int turns = 0; requester_at_work(begun); relax(turns)) {
        if (turns % kTurnsBeforeDoubt != kTurnsBeforeDoubt - 1) continue;
        if (requester_gone(begun)) return;
        if (end == Deadline{}) end = Clock::now() + kRequesterPatience;
        if (Clock::now() < end) continue;
        if (const auto peer = requester(begun)) adapter_.process().cut_off(peer);
        return;
    }
}

/// Of datagrams any number of requesters take turns, the next of whom sees what has changed before:
/// the turn counts that one had when the wait began.
bool QueuePair::requester_at_work(std::uint32_t begun) const {
    if (qp_type != IBV_QPT_UD) return requester_busy();
    return begun != 0 && entry_->busy.load(std::memory_order_seq_cst) == begun;
}

std::shared_ptr<Peer> QueuePair::requester(std::uint32_t begun) const {
    if (qp_type == IBV_QPT_UD)
        return adapter_.process().peer_of_qpn(begun, Clock::now()).value_or(nullptr);
    support::SpinLockGuard lock(requester_lock_);
    return requester_ ? requester_->peer : nullptr;
}

bool QueuePair::requester_gone(std::uint32_t begun) const {
    if (qp_type == IBV_QPT_UD) return adapter_.process().owner_has_ended(begun);
    support::SpinLockGuard lock(requester_lock_);
    return requester_ && requester_->peer->gone();
}

bool QueuePair::requester_busy() const {
    if (entry_->busy.load(std::memory_order_seq_cst) == 0) return false;
    support::SpinLockGuard lock(requester_lock_);
    return requester_ && requester_->peer->alive();
}

}  // namespace softverbs
