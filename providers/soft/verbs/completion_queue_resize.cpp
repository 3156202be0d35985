// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The ring of a completion queue as its owner sees it: all that stands in it, and its replacement
/// by another one. Producers look the ring up for each completion, so the new ring is published
/// first; then those that may still work with the old one are waited for; then what stands in the
/// old one goes to private memory, where poll_cq finds it before all that came later.
#include <bit>
#include <cerrno>

#include "providers/soft/verbs/completion_queue.hpp"
#include "providers/soft/verbs/query.hpp"
#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

void copy_entry(CqEntry& to, const CqEntry& from) {
    to.state.store(from.state.load(std::memory_order_acquire), std::memory_order_relaxed);
    to.wr_id = from.wr_id;
    to.byte_len = from.byte_len;
    to.imm_data = from.imm_data;
    to.qp_num = from.qp_num;
    to.src_qp = from.src_qp;
    to.position = from.position;
    to.status = from.status;
    to.opcode = from.opcode;
    to.wc_flags = from.wc_flags;
    to.flags = from.flags;
}

bool is_solicited(const CqEntry& entry) {
    return (entry.flags & kSolicited) != 0 || entry.status != IBV_WC_SUCCESS;
}

template <class Visit>
void each_entry_of(const CompletionRing& ring, std::uint64_t head, Visit& visit) {
    for (std::uint64_t at = head; at != head + ring.size(); ++at) {
        CqEntry& entry = ring.entry(at);
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_acquire));
        if (state.position != static_cast<std::uint32_t>(at) || state.phase == Phase::kFree) break;
        visit(entry, state);
    }
}

}  // namespace

template <class Visit>
void CompletionQueue::each_entry(Visit visit) {
    for (std::uint32_t i = backlog_.head; i != backlog_.size; ++i) {
        CqEntry& entry = backlog_.entries[i];
        visit(entry, EntryState::decode(entry.state.load(std::memory_order_relaxed)));
    }
    each_entry_of(ring_, head_, visit);
    if (next_.valid()) each_entry_of(next_, 0, visit);
}

std::vector<std::uint32_t> CompletionQueue::settle_receives(std::uint32_t qp_num,
                                                            const std::function<void()>& inspect) {
    std::vector<std::uint32_t> waiting;
    support::SpinLockGuard lock(lock_);
    inspect();
    each_entry([&](CqEntry& entry, EntryState state) {
        if (state.qp_num != qp_num) return;
        if (state.phase == Phase::kReady && (entry.flags & kIsReceive) != 0)
            waiting.push_back(entry.position);
        if (state.phase == Phase::kClaimed && state.producer == Producer::kRequester) {
            std::uint64_t claimed = state.encode();
            state.phase = Phase::kVoid;
            entry.state.compare_exchange_strong(claimed, state.encode(), std::memory_order_acq_rel);
        }
    });
    return waiting;
}

void CompletionQueue::purge(std::uint32_t qp_num) {
    support::SpinLockGuard lock(lock_);
    each_entry([&](CqEntry& entry, EntryState state) {
        if (state.qp_num != qp_num) return;
        state.phase = Phase::kVoid;
        entry.state.store(state.encode(), std::memory_order_release);
    });
}

void CompletionQueue::deliver_payloads() {
    support::SpinLockGuard lock(lock_);
    each_entry([&](CqEntry& entry, EntryState state) {
        if (state.phase != Phase::kReady || (entry.flags & kInSlot) == 0) return;
        if (QueuePair* qp = adapter().find_qp(entry.qp_num)) qp->deliver_payload(entry);
        entry.flags = static_cast<std::uint8_t>(entry.flags & ~kInSlot);
    });
}

std::uint32_t CompletionQueue::waiting() {
    std::uint32_t count = 0;
    each_entry([&](CqEntry&, EntryState state) { count += state.phase != Phase::kVoid; });
    return count;
}

Result<RingPlace> CompletionQueue::make_ring(std::uint32_t size) {
    Adapter& adapter = this->adapter();
    const std::uint64_t bytes = std::uint64_t{size} * sizeof(CqEntry);
    RingPlace place;
    place.offset = adapter.arena().allocate(bytes);
    if (place.offset == 0) return tl::unexpected<int>(ENOMEM);
    place.log2_size = static_cast<std::uint32_t>(std::countr_zero(size));
    auto* entries = adapter.view().array<CqEntry>(place.offset, bytes);
    for (std::uint32_t i = 0; i < size; ++i) entries[i].state = EntryState::free_at(i);
    return place;
}

void CompletionQueue::release_ring(RingPlace place) {
    adapter().arena().release(place.offset, std::uint64_t{place.size()} * sizeof(CqEntry));
}

int CompletionQueue::resize(int entries) {
    if (entries < 1 || entries > static_cast<int>(kMaxCqEntries)) return EINVAL;
    const std::uint32_t size = ring_size(static_cast<std::uint32_t>(entries));
    Adapter& adapter = this->adapter();
    support::MutexLock lock(adapter.mutex);  // one at a time, and queue pairs stay
    RingPlace before;
    Backlog backlog;
    {
        support::SpinLockGuard guard(lock_);
        if (waiting() > size) return EINVAL;
        before = place_;
        backlog.size = backlog_.left() + ring_.size();
    }
    if (before.size() == size) return 0;
    backlog.entries = std::make_unique<CqEntry[]>(backlog.size);
    Result<RingPlace> place = make_ring(size);
    if (!place) return place.error();
    place->turn = 1 - before.turn;
    {
        support::SpinLockGuard guard(lock_);
        header_->tails[place->turn].position.store(0, std::memory_order_relaxed);
        header_->ring.store(place->encode(), std::memory_order_seq_cst);
        next_ = CompletionRing::of(adapter.view(), index_);
        place_ = *place;
    }
    for (QueuePair* qp : adapter.queue_pairs()) {
        if (qp->send_cq == this || qp->recv_cq == this) qp->wait_for_producers();
    }
    change_over(std::move(backlog));
    release_ring(before);
    cqe = static_cast<int>(size);
    return 0;
}

/// Nobody writes to the old ring any more: what is not ready in it was claimed by the dead.
/// Completions in the new one were invisible until now, so that an event which was raised for them
/// may have been fetched in vain.
void CompletionQueue::change_over(Backlog backlog) {
    bool wake = false;
    {
        support::SpinLockGuard guard(lock_);
        std::uint32_t kept = 0;
        const auto keep = [&](CqEntry& entry, EntryState state) {
            if (state.phase == Phase::kReady) copy_entry(backlog.entries[kept++], entry);
        };
        for (std::uint32_t i = backlog_.head; i != backlog_.size; ++i) {
            CqEntry& entry = backlog_.entries[i];
            keep(entry, EntryState::decode(entry.state.load(std::memory_order_relaxed)));
        }
        each_entry_of(ring_, head_, keep);
        backlog.size = kept;
        std::swap(backlog_, backlog);
        ring_ = next_;
        next_ = {};
        head_ = 0;
        const auto announce = [&](CqEntry& entry, EntryState state) {
            const bool ready = state.phase == Phase::kReady;
            wake = (ready && take_arming(*header_, is_solicited(entry))) || wake;
        };
        each_entry_of(ring_, head_, announce);
    }
    CompletionChannel* channel = completion_channel();
    if (wake && channel) channel->wake();
}

}  // namespace softverbs
