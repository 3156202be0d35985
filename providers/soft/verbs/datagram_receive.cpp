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

/// Until the turn that somebody has now is over. The next one sees what has changed before.
void QueuePair::wait_for_turn() const {
    constexpr int kTurnsBeforeDoubt = 4096;
    const std::uint32_t holder = entry_->busy.load(std::memory_order_seq_cst);
    Deadline end{};
    for (int turns = 0; holder != 0 && entry_->busy.load(std::memory_order_seq_cst) == holder;
         relax(turns)) {
        if (turns % kTurnsBeforeDoubt != kTurnsBeforeDoubt - 1) continue;
        if (turn_is_orphaned()) return;
        if (end == Deadline{}) end = Clock::now() + kRequesterPatience;
        if (Clock::now() < end) continue;
        const auto peer = adapter_.process().peer_of_qpn(holder, Clock::now());
        if (peer) adapter_.process().cut_off(*peer);
        return;
    }
}

/// Whether the process of the requester at work has ended.
bool QueuePair::turn_is_orphaned() const {
    if (qp_type != IBV_QPT_UD) return false;
    const std::uint32_t holder = entry_->busy.load(std::memory_order_acquire);
    if (holder == 0) return false;
    const Result<std::shared_ptr<Peer>> peer = adapter_.process().peer_of_qpn(holder, Clock::now());
    return peer ? (*peer)->gone() : peer.error() != ETIMEDOUT;
}

/// The receive that a dead requester took and did not complete is the next one's.
void QueuePair::end_orphaned_turn() {
    support::SpinLockGuard lock(receive_lock_);
    std::uint32_t completed = 0;
    const std::vector<std::uint32_t> waiting = receive_queue().settle_receives(
        qp_num, [&] { completed = receive_completed_.load(std::memory_order_relaxed); });
    // Entries of the queue are what peers wrote there.
    const auto published = static_cast<std::uint32_t>(waiting.size());
    entry_->consumed.store(completed + std::min(published, receive_posted_ - completed));
    entry_->busy.store(0, std::memory_order_seq_cst);
}

/// A requester has waited long for its turn. A process that dies before it has greeted us never was
/// a peer whose death is told, so that the holder has to be looked for.
void QueuePair::doubt_turn() {
    const std::uint32_t holder = entry_->busy.load(std::memory_order_acquire);
    if (holder == 0) return;
    Adapter* adapter = &adapter_;
    adapter_.process().service().post(
        [adapter, number = qp_num, holder] { look_for_holder(*adapter, number, holder); });
}

/// Service thread, without the adapter's mutex.
void QueuePair::look_for_holder(Adapter& adapter, std::uint32_t number, std::uint32_t holder) {
    const auto judge = [&adapter, number, holder](const Result<std::shared_ptr<Peer>>& found) {
        const bool is_gone =
            found ? (*found)->gone() : found.error() == ECONNREFUSED || found.error() == ENOENT;
        if (!is_gone) return;
        support::MutexLock lock(adapter.mutex);
        QueuePair* qp = adapter.find_qp(number);
        if (qp && qp->entry_->busy.load(std::memory_order_acquire) == holder)
            qp->end_orphaned_turn();
    };
    const auto owner = adapter.process().index().owner_of_block(holder / kQpsPerBlock);
    if (!owner) return judge(tl::unexpected<int>(owner.error()));
    adapter.process().find_peer(*owner, judge);
}

bool QueuePair::datagram_peer_died(const Peer& peer) {
    datagrams_->targets().forget(peer);
    const std::uint32_t holder = entry_->busy.load(std::memory_order_acquire);
    if (holder != 0 && ArenaView(peer.arena()).qp_index(holder) >= 0) end_orphaned_turn();
    return false;
}

void QueuePair::destination_found(std::uint32_t number, Result<Target> found) {
    support::SpinLockGuard lock(send_lock_);
    if (!datagrams_) return;
    datagrams_->targets().resolved(number, std::move(found));
    drain();
}

}  // namespace softverbs
