// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receiving half of a datagram queue pair.
#include <algorithm>
#include <cstring>

#include "providers/soft/verbs/datagram.hpp"
#include "providers/soft/verbs/memory_regions.hpp"
#include "providers/soft/verbs/query.hpp"

namespace softverbs {

std::uint64_t QueuePair::receive_bytes() const {
    const std::uint64_t message = qp_type == IBV_QPT_UD ? sizeof(DatagramSlot) : 0;
    return std::uint64_t{receives_.size} * (receives_.stride + message);
}

const DatagramSlot& QueuePair::datagram_slot(std::uint32_t position) const {
    const std::uint8_t* slots = receives_.slots + std::size_t{receives_.size} * receives_.stride;
    return reinterpret_cast<const DatagramSlot*>(slots)[position & (receives_.size - 1)];
}

void QueuePair::describe_datagram(const CqEntry& entry, ibv_wc& wc) const {
    wc.slid = lid_of(adapter_.process());
    wc.sl = datagram_slot(entry.position).sl & 15;
}

/// The route header, then the message. Without a header its place stays as it was. As with
/// deliver_payload(), what stands in the slot may be anybody's.
void QueuePair::deliver_datagram(const CqEntry& entry) {
    const DatagramSlot& slot = datagram_slot(entry.position);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&slot);
    const std::uint32_t begin = (entry.wc_flags & IBV_WC_GRH) != 0 ? 0 : sizeof slot.grh;
    const auto end = std::min<std::uint32_t>(entry.byte_len, sizeof slot.grh + sizeof slot.payload);
    ReceiveSlot* receive = receives_.slot(entry.position);
    const std::uint32_t count = std::min(receive->num_sge, receives_.max_sge);
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < count && at < end; ++i) {
        const Segment segment = slot_segments(receive)[i];
        const std::uint32_t part = std::min(segment.length, end - at);
        const std::uint32_t skipped = std::min(part, begin - std::min(at, begin));
        if (part != skipped) {
            const CheckedRange to = check_own_key(adapter_, segment.key, domain().number(),
                                                  IBV_ACCESS_LOCAL_WRITE, segment.address, part);
            if (!to.permitted) return;
            std::memcpy(reinterpret_cast<std::uint8_t*>(to.address) + skipped, bytes + at + skipped,
                        part - skipped);
        }
        at += part;
    }
}

void QueuePair::end_orphaned_turn() {
    if (qp_type != IBV_QPT_UD) return;
    const std::uint32_t holder = entry_->busy.load(std::memory_order_acquire);
    if (holder != 0 && adapter_.process().owner_has_ended(holder)) end_turn(holder);
}

/// The receive that a dead requester took and did not complete is the next one's.
void QueuePair::end_turn(std::uint32_t holder) {
    support::SpinLockGuard lock(receive_lock_);
    if (entry_->busy.load(std::memory_order_acquire) != holder) return;  // another thread of ours
    std::uint32_t completed = 0;
    const std::vector<std::uint32_t> waiting = receive_queue().settle_receives(
        qp_num, [&] { completed = receive_completed_.load(std::memory_order_relaxed); });
    // Entries of the queue are what peers wrote there.
    const auto published = static_cast<std::uint32_t>(waiting.size());
    entry_->consumed.store(completed + std::min(published, receive_posted_ - completed));
    entry_->busy.store(0, std::memory_order_seq_cst);
}

bool QueuePair::datagram_peer_died(const Peer& peer) {
    datagrams_->targets().forget(peer);
    const std::uint32_t holder = entry_->busy.load(std::memory_order_acquire);
    if (holder != 0 && ArenaView(peer.arena()).qp_index(holder) >= 0) end_turn(holder);
    return false;
}

void QueuePair::destination_found(std::uint32_t number, Result<Target> found) {
    support::SpinLockGuard lock(send_lock_);
    if (!datagrams_) return;
    datagrams_->targets().resolved(number, std::move(found));
    drain();
}

}  // namespace softverbs
