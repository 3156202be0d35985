// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The posted transfers of one direction of an EP, in posting order. A slot is free again when the
/// consumer has taken its completion, or a later one's: that is how suppressed requests come back.
#pragma once

#include "dapl/base/dat.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "support/base/processor.hpp"

namespace dapl {

struct Slot {
    static constexpr std::uint32_t kOperationMask = 0x7f;
    static constexpr std::uint32_t kSuppressed = 0x80;  ///< no event comes of it when it goes well
    static constexpr int kRmrShift = 8;                 ///< to the index of the RMR
    /// Of a read that confirms a write: the event is the write's.
    static constexpr std::uint32_t kConfirmation = 1U << 31;

    /// @param flags DAT_COMPLETION_FLAGS. @return the bit of operation.
    static constexpr std::uint32_t suppression(unsigned flags) {
        return (flags & DAT_COMPLETION_SUPPRESS_FLAG) * kSuppressed;
    }

    DAT_UINT64 cookie;
    DAT_SEG_LENGTH length;  ///< sum of the segments as posted
    /// DAT_DTOS or DAT_IB_DTOS, of a bind with the RMR above it; of a receive, what it was posted
    /// for: DAT_DTO_RECEIVE, or DAT_IB_DTO_RECV_IMMED when the event is to be an extension's
    /// whatever comes. Written last, read first: it
    /// carries the others from the poster to the taker, between whom is only a device.
    std::atomic<std::uint32_t> operation;
};

/// One poster at a time (the EP's spin lock) and one taker at a time (the EVD's lock), who do not
/// wait for each other. A transfer is known by its sequence, which counts the posts modulo 2^23 and
/// is the end of its wr_id.
class SlotRing {
  public:
    static constexpr std::uint32_t kSequenceMask = 0x7fffff;  ///< what fits into a wr_id

    using Storage = std::unique_ptr<Slot[]>;
    /// Throws std::bad_alloc.
    static Storage storage(std::uint32_t limit) { return std::make_unique<Slot[]>(size(limit)); }
    /// Empties the ring. Both locks of the side are held, or nobody else knows it.
    /// @param limit transfers that may be posted and not yet taken. @param base what all wr_ids
    /// have in common. @param slots storage(limit); has the one before afterwards.
    void reset(std::uint32_t limit, std::uint64_t base, Storage& slots) {
        slots_.swap(slots);
        limit_ = limit;
        mask_ = size(limit) - 1;
        base_ = next_ = bound_ = base;
        first_ = 0;
        stopped_ = false;
    }

    // For the poster.

    std::uint32_t limit() const { return limit_; }
    /// Posted and not yet taken.
    std::uint32_t posted() const {
        return (next_sequence() - first_.load(std::memory_order_acquire)) & kSequenceMask;
    }
    /// Whether a slot is free. Looks what was taken meanwhile only where none was free before.
    bool has_room() { return next_ != bound_ || find_room(); }
    /// There is no room any more.
    void close() {
        limit_ = 0;
        bound_ = next_;
    }
    // With room:
    std::uint32_t next_sequence() const {
        return static_cast<std::uint32_t>(next_) & kSequenceMask;
    }
    /// The same where another may stop the ring.
    std::uint32_t upcoming_sequence() const {
        auto& next = const_cast<std::uint64_t&>(next_);
        return static_cast<std::uint32_t>(std::atomic_ref(next).load(std::memory_order_relaxed)) &
               kSequenceMask;
    }
    /// Fills the slot of the next post, before the device gets it: the completion may be taken
    /// before the post returns. @return its wr_id.
    std::uint64_t fill(DAT_UINT64 cookie, DAT_SEG_LENGTH length, std::uint32_t operation) {
        const std::uint64_t id = next_;
        Slot& slot = slots_[id & mask_];
        std::atomic_ref(slot.cookie).store(cookie, std::memory_order_relaxed);
        std::atomic_ref(slot.length).store(length, std::memory_order_relaxed);
        slot.operation.store(operation, std::memory_order_release);
        return id;
    }
    /// The device has it.
    void commit() { support::add_alone(next_, 1); }

    /// The device gets nothing more: has_room() says no from here on, once and for all.
    void stop() {
        align();
        stopped_at_ = next_sequence();
        stopped_ = true;
    }
    bool stopped() const { return stopped_; }
    // Of a stopped ring:
    bool is_full() const { return posted() >= limit_; }
    /// Posts what no device will see, into a ring that is not full. @return its wr_id.
    std::uint64_t add(DAT_UINT64 cookie, DAT_SEG_LENGTH length, std::uint32_t operation) {
        const std::uint64_t id = fill(cookie, length, operation);
        commit();
        align();
        return id;
    }
    /// The first sequence that the device has not got.
    std::uint32_t stopped_at() const { return stopped_at_; }
    std::uint64_t id_of(std::uint32_t sequence) const { return base_ | sequence; }

    // For the taker. Any sequence is safe.

    const Slot& at(std::uint64_t sequence) const { return slots_[sequence & mask_]; }
    /// The oldest not yet taken, or the next post.
    std::uint32_t first_sequence() const {
        return first_.load(std::memory_order_acquire) & kSequenceMask;
    }
    /// Frees the slots up to this one.
    void release(std::uint64_t sequence) {
        first_.store(static_cast<std::uint32_t>(sequence) + 1, std::memory_order_release);
    }

    // For who only looks, while posters and takers work: nobody waits. What guards reset() is held.

    struct Look {
        std::uint32_t posted;  ///< and not yet taken
        std::uint64_t oldest;  ///< wr_id of the oldest of them
        DAT_UINT64 cookie;
        DAT_SEG_LENGTH length;
        std::uint32_t operation;  ///< as in its slot
    };
    Look look() const;

  private:
    static std::uint32_t size(std::uint32_t limit) { return std::bit_ceil(limit ? limit : 1); }
    void align() {
        if (next_ > (base_ | kSequenceMask))
            std::atomic_ref(next_).store(base_, std::memory_order_relaxed);
        bound_ = next_;
    }
    bool find_room() {
        if (stopped_) return false;
        align();
        const std::uint32_t waiting = posted();
        if (waiting >= limit_) return false;
        bound_ = std::min<std::uint64_t>(next_ + limit_ - waiting, (base_ | kSequenceMask) + 1);
        return true;
    }

    std::uint64_t next_ = 0;   ///< wr_id of the next post; written atomically, for look()
    std::uint64_t bound_ = 0;  ///< the first wr_id whose slot is not known to be free
    Storage slots_;
    std::uint32_t mask_ = 0;
    std::uint32_t limit_ = 0;
    bool stopped_ = false;
    std::uint32_t stopped_at_ = 0;
    std::uint64_t base_ = 0;
    std::atomic<std::uint32_t> first_{0};  ///< sequence of the oldest not yet taken
};

inline SlotRing::Look SlotRing::look() const {
    const auto relaxed = [](auto& value) {
        return std::atomic_ref(value).load(std::memory_order_relaxed);
    };
    Look found{};
    if (!slots_) return found;
    constexpr int kTries = 8;
    for (int tries = 0; tries < kTries; ++tries) {
        const std::uint32_t first = first_.load(std::memory_order_acquire);
        // After that, so that it is not behind it; what is posted meanwhile may make it too many.
        const auto next = static_cast<std::uint32_t>(relaxed(const_cast<std::uint64_t&>(next_)));
        Slot& slot = slots_[first & kSequenceMask & mask_];
        found.posted = std::min((next - first) & kSequenceMask, mask_ + 1);
        found.oldest = id_of(first & kSequenceMask);
        found.operation = slot.operation.load(std::memory_order_acquire);
        found.cookie = relaxed(slot.cookie);
        found.length = relaxed(slot.length);
        if (first_.load(std::memory_order_acquire) == first) break;
    }
    return found;
}

}  // namespace dapl
