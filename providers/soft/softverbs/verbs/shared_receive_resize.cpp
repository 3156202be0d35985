// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Resizing a shared receive queue, and its limit. Requesters are at work during a resize: existing
/// slots stay where they are, and an order that is replaced is kept until they have finished with
/// it.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"

namespace softverbs {
namespace {

/// @return the entries of the queue's datagram queue pairs. The memory for them is allocated
/// without the adapter's mutex.
std::vector<const QpEntry*> datagram_queue_pairs(const SharedReceiveQueue& srq) {
    Adapter& adapter = srq.adapter();
    std::vector<const QpEntry*> entries;
    for (;;) {
        std::size_t count = 0;
        entries.clear();
        {
            support::MutexLock lock(adapter.mutex);
            adapter.each_queue_pair([&](const QueuePair& qp) {
                if (qp.srq != &srq || qp.qp_type != IBV_QPT_UD) return;
                if (count++ < entries.capacity()) entries.push_back(&qp.entry());
            });
        }
        if (count == entries.size()) return entries;
        entries.reserve(count);
    }
}

/// Waits until the turns that requesters have at the queue's datagram queue pairs have ended.
/// @return false at the deadline.
bool datagrams_are_over(const SharedReceiveQueue& srq, Deadline deadline) {
    const auto entries = datagram_queue_pairs(srq);
    return std::all_of(entries.begin(), entries.end(), [&](const QpEntry* entry) {
        return turn_is_over(*entry, srq.adapter(), deadline);
    });
}

}  // namespace

int SharedReceiveQueue::modify(const ibv_srq_attr& attributes, int mask) {
    support::MutexLock lock(resize_mutex_);
    if (const int cause = check_modify(attributes, mask)) return cause;
    if ((mask & IBV_SRQ_MAX_WR) != 0) {
        if (const int cause = resize(attributes.max_wr)) return cause;
    }
    if ((mask & IBV_SRQ_LIMIT) != 0) set_limit(attributes.srq_limit);
    return 0;
}

int SharedReceiveQueue::check_modify(const ibv_srq_attr& attributes, int mask) {
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
    support::SpinLockGuard guard(lock_);
    const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
    const std::uint32_t max_wr = resizes ? attributes.max_wr : max_wr_;
    const std::uint32_t limit =
        (mask & IBV_SRQ_LIMIT) != 0 ? attributes.srq_limit : ring_.shared->limit.load();
    const std::uint32_t outstanding = num_slots_ - static_cast<std::uint32_t>(free_.size());
    if (resizes && (max_wr == 0 || max_wr > kMaxWorkRequests || max_wr < outstanding)) {
        return EINVAL;
    }
    return limit > max_wr ? EINVAL : 0;
}

int SharedReceiveQueue::resize(std::uint32_t max_wr) {
    while (num_slots_ < max_wr) {
        if (const int cause = add_section()) return cause;
    }
    std::uint32_t order_size = 0;
    {
        support::SpinLockGuard guard(lock_);
        order_size = order_ ? order_place_.size() : 0;
    }
    if (order_size < num_slots_) {
        if (const int cause = replace_order(num_slots_)) return cause;
    }
    support::SpinLockGuard guard(lock_);
    // Receives may have been posted since they were counted.
    if (max_wr < num_slots_ - free_.size()) return EINVAL;
    max_wr_ = max_wr;
    return 0;
}

/// Adds a section of slots. They are not used until max_wr_ permits as many.
int SharedReceiveQueue::add_section() {
    const std::uint32_t first = num_slots_;
    const SectionPlace place = SectionPlace::of(first, ring_.size);
    if (place.section >= kMaxSrqSections) return ENOMEM;
    records_[place.section] = std::make_unique<SlotRecord[]>(place.size);
    std::vector<std::uint32_t> slots;
    slots.reserve(std::size_t{first} + place.size);  // so that free_slot() never allocates
    for (std::uint32_t slot = first + place.size; slot-- != first;) slots.push_back(slot);
    const std::uint64_t offset =
        adapter().arena().allocate(std::uint64_t{place.size} * ring_.stride);
    if (offset == 0) return ENOMEM;
    if (message_table_ != 0 && add_messages(place) != 0) {
        adapter().arena().release(offset, std::uint64_t{place.size} * ring_.stride);
        return ENOMEM;
    }
    sections_[place.section].store(offset, std::memory_order_release);
    ring_.shared->sections[place.section].store(offset, std::memory_order_release);
    support::SpinLockGuard guard(lock_);
    slots.insert(slots.end(), free_.begin(), free_.end());
    free_.swap(slots);
    num_slots_.store(first + place.size, std::memory_order_release);
    return 0;
}

/// Allocates the section's places for messages, before requesters of datagrams can take its slots.
int SharedReceiveQueue::add_messages(SectionPlace place) {
    if (messages_[place.section] != 0) return 0;
    Arena& arena = adapter().arena();
    const std::uint64_t offset = arena.allocate(std::uint64_t{place.size} * sizeof(DatagramSlot));
    if (offset == 0) return ENOMEM;
    auto* const table =
        adapter().view().array<std::atomic<std::uint64_t>>(message_table_, sizeof messages_);
    messages_[place.section].store(offset, std::memory_order_release);
    table[place.section].store(offset, std::memory_order_release);
    return 0;
}

int SharedReceiveQueue::hold_messages() {
    support::MutexLock lock(resize_mutex_);
    if (message_table_ == 0) message_table_ = adapter().arena().allocate(sizeof messages_);
    if (message_table_ == 0) return ENOMEM;
    for (std::uint32_t slot = 0; slot < num_slots_;) {
        const SectionPlace place = SectionPlace::of(slot, ring_.size);
        if (const int cause = add_messages(place)) return cause;
        slot += place.size;
    }
    return 0;
}

const DatagramSlot* SharedReceiveQueue::message(std::uint32_t slot) const {
    if (slot >= num_slots_.load(std::memory_order_acquire)) return nullptr;
    const SectionPlace place = SectionPlace::of(slot, ring_.size);
    const DatagramSlot* const section = adapter().view().array<DatagramSlot>(
        messages_[place.section].load(std::memory_order_acquire),
        std::uint64_t{place.size} * sizeof(DatagramSlot));
    return section ? section + place.index : nullptr;
}

int SharedReceiveQueue::replace_order(std::uint32_t size) {
    Arena& arena = adapter().arena();
    const std::uint64_t bytes = std::uint64_t{size} * sizeof(std::uint32_t);
    RingPlace place;
    place.offset = arena.allocate(bytes);
    if (place.offset == 0) return ENOMEM;
    place.log2_size = static_cast<std::uint32_t>(std::countr_zero(size));
    auto* order = adapter().view().array<std::atomic<std::uint32_t>>(place.offset, bytes);
    RingPlace before;
    {
        support::SpinLockGuard guard(lock_);
        before = order_place_;
        // Entries that requesters have already taken are copied too; nobody reads them.
        for (std::uint32_t back = 1; order_ && back <= before.size(); ++back) {
            const std::uint32_t position = posted_ - back;
            order[position & (size - 1)].store(order_[position & (before.size() - 1)]);
        }
        order_place_ = place;
        order_ = order;
        ring_.shared->order.store(place.encode(), std::memory_order_seq_cst);
    }
    if (before.offset != 0) retire_order(before);
    return 0;
}

/// Keeps an order while a requester that has been stopped may still read it: until a later one is
/// retired, or the queue is destroyed, which is after all its queue pairs.
void SharedReceiveQueue::retire_order(RingPlace before) {
    retired_orders_.push_back(before);
    const auto any = [](std::uint32_t, std::uint32_t) { return true; };
    const Deadline deadline = Clock::now() + kRequesterPatience;
    if (adapter().requesters.wait(deadline, any) && datagrams_are_over(*this, deadline))
        release_orders();
}

void SharedReceiveQueue::release_orders() {
    for (const RingPlace& place : retired_orders_)
        adapter().arena().release(place.offset,
                                  std::uint64_t{place.size()} * sizeof(std::uint32_t));
    retired_orders_.clear();
}

void SharedReceiveQueue::release_memory() {
    release_orders();
    Arena& arena = adapter().arena();
    for (std::uint32_t slot = 0; slot < num_slots_;) {
        const SectionPlace place = SectionPlace::of(slot, ring_.size);
        arena.release(sections_[place.section], std::uint64_t{place.size} * ring_.stride);
        slot += place.size;
    }
    for (std::uint32_t section = 0; section < kMaxSrqSections; ++section) {
        const std::uint64_t size = std::uint64_t{ring_.size} << (section == 0 ? 0 : section - 1);
        if (messages_[section] != 0) arena.release(messages_[section], size * sizeof(DatagramSlot));
    }
    if (message_table_ != 0) arena.release(message_table_, sizeof messages_);
    support::SpinLockGuard guard(lock_);
    if (order_)
        arena.release(order_place_.offset,
                      std::uint64_t{order_place_.size()} * sizeof(std::uint32_t));
}

void SharedReceiveQueue::set_limit(std::uint32_t limit) {
    SrqHeader& header = *ring_.shared;
    limit_armed_ = limit != 0;
    header.limit.store(limit, std::memory_order_seq_cst);
    // Fewer receives than that may be left already.
    const std::uint32_t left = header.posted.load() - header.head.load();
    if (!crosses_srq_limit(header, left)) return;
    ArenaHeader& arena = adapter().view().header();
    set_kick(arena.srq_kicks, arena.srq_kick_summary, index_);
    adapter().process().self()->ring_doorbell();
}

}  // namespace softverbs
