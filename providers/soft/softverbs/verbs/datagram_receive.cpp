// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receiving half of a datagram queue pair.
#include <algorithm>
#include <cstring>

#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/delivery.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "support/log/log.hpp"

namespace softverbs {

std::uint64_t QueuePair::receive_bytes() const {
    const std::uint64_t message = qp_type == IBV_QPT_UD ? sizeof(DatagramSlot) : 0;
    return std::uint64_t{receives_.size} * (receives_.stride + message);
}

const DatagramSlot* QueuePair::datagram_slot(std::uint32_t position) const {
    if (const SharedReceiveQueue* shared = shared_queue()) return shared->message(position);
    const std::uint8_t* slots = receives_.slots + std::size_t{receives_.size} * receives_.stride;
    return reinterpret_cast<const DatagramSlot*>(slots) + (position & (receives_.size - 1));
}

void QueuePair::describe_datagram(std::uint32_t position, ibv_wc& wc) const {
    const DatagramSlot* const slot = datagram_slot(position);
    wc.sl = slot ? slot->sl & 15 : 0;
    const PortId sender = slot ? PortId::at(slot->port % kMostPortIds) : PortId{};
    wc.slid = adapter_.process().lids().of(sender);
}

/// Copies the route header and the message to the posted buffers. If there is no header, its place
/// is left unchanged. As in deliver_payload(), any peer may have written the slot.
int QueuePair::deliver_datagram(const CqEntry& entry, std::uint32_t position) {
    const ReceiveRing& ring = srq ? shared_queue()->ring() : receives_;
    const DatagramSlot* const slot = datagram_slot(position);
    ReceiveSlot* const receive = ring.slot(position);
    if (!slot || !receive) return 0;
    order_after_post(*receive);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(slot);
    const bool has_header = (read_once(entry.wc_flags) & IBV_WC_GRH) != 0;
    const std::uint32_t begin = has_header ? 0 : sizeof slot->grh;
    const auto end =
        std::min<std::uint32_t>(read_once(entry.byte_len), sizeof slot->grh + sizeof slot->payload);
    const std::uint32_t count = std::min(read_once(receive->num_sge), ring.max_sge);
    Places places(adapter_, receive_pd());
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < count && at < end; ++i) {
        const Segment segment = read_once(slot_segments(receive)[i]);
        const std::uint32_t part = std::min(segment.length, end - at);
        const std::uint32_t skipped = std::min(part, begin - std::min(at, begin));
        if (part != skipped && !places.add(segment, skipped, part - skipped)) return 0;
        at += part;
    }
    return places.fill(bytes + begin);
}

namespace {

bool holder_has_ended(const Adapter& adapter, const QpEntry& entry, std::uint32_t holder) {
    return adapter.is_forged_turn(entry.turn, holder) || adapter.process().owner_has_ended(holder);
}

/// Reports the process that holds a turn for too long.
void tell_holder(Process& process, std::uint32_t holder) {
    const auto owner = process.peer_of_qpn(holder, Deadline{});
    if (owner) support::report<support::kPeerHeldUp>((*owner)->pid());
}

}  // namespace

bool turn_is_over(const QpEntry& entry, const Adapter& adapter, Deadline deadline) {
    constexpr int kTurnsBeforeDoubt = 4096;
    const bool is_patient = Clock::now() < deadline;
    const std::uint32_t begun = entry.turn.load(std::memory_order_seq_cst);
    for (int turns = 0; begun != 0 && entry.turn.load(std::memory_order_seq_cst) == begun;
         relax(turns)) {
        if (turns % kTurnsBeforeDoubt != kTurnsBeforeDoubt - 1) continue;
        if (holder_has_ended(adapter, entry, begun)) return true;
        if (Clock::now() < deadline) continue;
        if (is_patient) tell_holder(adapter.process(), begun);
        return false;
    }
    return true;
}

void QueuePair::end_orphaned_turn() {
    if (qp_type != IBV_QPT_UD) return;
    const std::uint32_t holder = entry_->turn.load(std::memory_order_acquire);
    if (holder != 0 && holder_has_ended(adapter_, *entry_, holder)) end_turn(holder);
}

/// Ends a dead requester's turn. A receive that it took and did not complete goes to the next one.
void QueuePair::end_turn(std::uint32_t holder) {
    support::SpinLockGuard lock(receive_lock_);
    // Another thread of ours may have ended it.
    if (entry_->turn.load(std::memory_order_acquire) != holder) return;
    // No other requester can have the turn while the word names this holder. A live holder in this
    // process keeps it.
    if (adapter_.is_ours(holder) && !adapter_.is_forged_turn(entry_->turn, holder)) return;
    if (SharedReceiveQueue* shared = shared_queue())
        settle_shared(*shared);
    else
        settle_ring();
    entry_->turn.store(0, std::memory_order_seq_cst);
}

void QueuePair::settle_ring() {
    std::uint32_t completed = 0;
    // Peers may have written anything into the queue, so the count is limited to what was posted.
    const std::uint32_t published = receive_queue().settle_receives(
        qp_num, [&] { completed = receive_completed_.load(std::memory_order_relaxed); });
    entry_->consumed.store(completed + std::min(published, receive_posted_ - completed));
}

void QueuePair::settle_shared(SharedReceiveQueue& shared) {
    receive_queue().settle_receives(
        qp_num, [] {},
        [&shared](const CqEntry& entry) { shared.note_completed(read_once(entry.position)); });
    shared.each_taken(qp_num, [&shared](std::uint32_t slot, bool completes) {
        if (!completes) shared.put_back(slot);
    });
}

bool QueuePair::datagram_peer_died(const Peer& peer) {
    datagrams_->targets().forget(peer);
    const std::uint32_t holder = entry_->turn.load(std::memory_order_acquire);
    if (holder != 0 && ArenaView(peer.arena(), peer.arena_size()).qp_index(holder) >= 0)
        end_turn(holder);
    return false;
}

void QueuePair::destination_found(std::uint32_t number, Result<Target> found) {
    support::SpinLockGuard lock(send_lock_);
    if (!datagrams_) return;
    datagrams_->targets().resolved(number, std::move(found));
    drain();
}

}  // namespace softverbs
