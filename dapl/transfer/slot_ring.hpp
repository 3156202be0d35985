// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ring of the posted transfers of one side of an EP, in posting order. A slot is free again when
/// its completion or that of a later slot is consumed: the latter frees the slots of requests whose
/// completions are suppressed.
#pragma once

#include "dapl/base/dat.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "support/base/processor.hpp"

namespace dapl {

struct Slot {
    static constexpr std::uint32_t kOperationMask = 0x7f;
    static constexpr std::uint32_t kSuppressed = 0x80;  ///< makes no event if it succeeds
    static constexpr int kRmrShift = 8;  ///< position of the RMR's index (binds only)
    /// The second of a pair (FollowedBy): its event reports the first.
    static constexpr std::uint32_t kSecondHalf = 1U << 31;

    /// @param flags DAT_COMPLETION_FLAGS. @return kSuppressed or 0, for `operation`.
    static constexpr std::uint32_t suppression(unsigned flags) {
        return (flags & DAT_COMPLETION_SUPPRESS_FLAG) * kSuppressed;
    }

    DAT_UINT64 cookie;
    DAT_SEG_LENGTH length;  ///< sum of the segments as posted
    /// DAT_DTOS or DAT_IB_DTOS with the flags above; a bind has the index of its RMR as well. A
    /// receive has the operation that it was posted as: DAT_DTO_RECEIVE, DAT_IB_DTO_RECV_UD, or
    /// DAT_IB_DTO_RECV_IMMED if it makes an extension event whatever message arrives. Stored last
    /// (release) and loaded first (acquire), so that the taker sees the other members: the device
    /// between poster and taker gives no such order.
    std::atomic<std::uint32_t> operation;
};

/// Names what a posted transfer uses; only the decorator (decoration.hpp) knows how. 0: nothing.
/// The post moves it into the transfer's slot and sets it to 0, unless the transfer is refused.
using TransferUse = std::uint64_t;

/// Has one poster at a time (under the side's lock) and one taker of completions at a time (under
/// the EVD's lock); neither waits for the other. A transfer is identified by its sequence, which
/// counts the posts modulo 2^23 and is the low part of its wr_id.
class SlotRing {
  public:
    static constexpr std::uint32_t kSequenceMask = 0x7fffff;  ///< what fits into a wr_id

    struct Storage {
        std::unique_ptr<Slot[]> slots;
        std::unique_ptr<std::atomic<TransferUse>[]> uses;  ///< nullptr without a decorator
    };
    /// Throws std::bad_alloc.
    static Storage storage(std::uint32_t limit, bool is_decorated = false) {
        using Uses = std::atomic<TransferUse>[];
        Storage made;
        made.slots = std::make_unique<Slot[]>(size(limit));
        if (is_decorated) made.uses = std::make_unique<Uses>(size(limit));
        return made;
    }
    /// Empties the ring. The poster's lock is held, and no taker can reach the ring.
    /// @param limit slots that may be in use at a time. @param base common part of all wr_ids.
    /// @param made storage(limit); afterwards the previous storage.
    void reset(std::uint32_t limit, std::uint64_t base, Storage& made) {
        storage_.slots.swap(made.slots);
        storage_.uses.swap(made.uses);
        limit_ = limit;
        mask_ = size(limit) - 1;
        base_ = next_ = bound_ = base;
        first_ = 0;
        stopped_ = false;
    }

    // For the poster, under the side's lock.

    std::uint32_t limit() const { return limit_; }
    /// Returns the number of slots in use: posted and not yet released.
    std::uint32_t posted() const {
        return (next_sequence() - first_.load(std::memory_order_acquire)) & kSequenceMask;
    }
    /// Returns whether a slot is free. Reads what the taker has released only when the slots that
    /// were known to be free are used up.
    bool has_room() { return next_ != bound_ || find_room(); }
    /// Makes has_room() return false until reset().
    void close() {
        limit_ = 0;
        bound_ = next_;
    }
    // For use only while has_room():
    std::uint32_t next_sequence() const {
        return static_cast<std::uint32_t>(next_) & kSequenceMask;
    }
    /// Records what the next post uses. To be called before fill(), which publishes it.
    void set_use(TransferUse use) {
        storage_.uses[next_ & mask_].store(use, std::memory_order_relaxed);
    }
    /// Fills the slot of the next post. To be called before the work request is given to the
    /// device: its completion may be consumed before the post returns. @return its wr_id.
    std::uint64_t fill(DAT_UINT64 cookie, DAT_SEG_LENGTH length, std::uint32_t operation) {
        const std::uint64_t id = next_;
        Slot& slot = storage_.slots[id & mask_];
        std::atomic_ref(slot.cookie).store(cookie, std::memory_order_relaxed);
        std::atomic_ref(slot.length).store(length, std::memory_order_relaxed);
        slot.operation.store(operation, std::memory_order_release);
        return id;
    }
    /// Makes the filled slot the newest post, after the device has accepted the work request.
    void commit() { support::add_alone(next_, 1); }

    /// Ends posting to the device: has_room() returns false from here on, until reset().
    void stop() {
        align();
        stopped_at_ = next_sequence();
        stopped_ = true;
    }
    bool stopped() const { return stopped_; }
    // For a stopped ring:
    bool is_full() const { return posted() >= limit_; }
    /// Adds a transfer that is not given to the device. The ring is not full. @return its wr_id.
    /// @param use nullptr without a decorator.
    std::uint64_t add(DAT_UINT64 cookie, DAT_SEG_LENGTH length, std::uint32_t operation,
                      TransferUse* use = nullptr) {
        if (use) set_use(std::exchange(*use, 0));
        const std::uint64_t id = fill(cookie, length, operation);
        commit();
        align();
        return id;
    }
    /// Returns the first sequence that was not given to the device.
    std::uint32_t stopped_at() const { return stopped_at_; }
    std::uint64_t id_of(std::uint32_t sequence) const { return base_ | sequence; }

    // For the taker, under the EVD's lock. Any sequence is safe.

    const Slot& at(std::uint64_t sequence) const { return storage_.slots[sequence & mask_]; }
    /// Takes out what a transfer uses; 0 the next time. The slot's operation has been loaded.
    TransferUse take_use(std::uint64_t sequence) {
        std::atomic<TransferUse>& use = storage_.uses[sequence & mask_];
        const TransferUse found = use.load(std::memory_order_relaxed);
        if (found) use.store(0, std::memory_order_relaxed);
        return found;
    }
    /// Calls ended(TransferUse) for all that are left. There is no poster any more.
    template <class Ended>
    void take_uses(const Ended& ended) {
        for (std::uint32_t i = 0; storage_.uses && i <= mask_; ++i)
            if (const TransferUse left = take_use(i)) ended(left);
    }
    /// Returns the sequence of the oldest slot in use, or of the next post if there is none.
    std::uint32_t first_sequence() const {
        return first_.load(std::memory_order_acquire) & kSequenceMask;
    }
    /// Frees all slots up to and including this one.
    void release(std::uint64_t sequence) {
        first_.store(static_cast<std::uint32_t>(sequence) + 1, std::memory_order_release);
    }

    // For monitoring, while other threads post and poll. Lock-free, except that what guards reset()
    // is held.

    struct Look {
        std::uint32_t posted;  ///< slots in use
        std::uint64_t oldest;  ///< wr_id of the oldest of these
        DAT_UINT64 cookie;
        DAT_SEG_LENGTH length;
        std::uint32_t operation;  ///< as in the slot
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

    std::uint64_t next_ = 0;   ///< wr_id of the next post; stored atomically, for look()
    std::uint64_t bound_ = 0;  ///< first wr_id whose slot is not known to be free
    Storage storage_;
    std::uint32_t mask_ = 0;
    std::uint32_t limit_ = 0;
    bool stopped_ = false;
    std::uint32_t stopped_at_ = 0;
    std::uint64_t base_ = 0;
    std::atomic<std::uint32_t> first_{0};  ///< sequence of the oldest slot in use
};

inline SlotRing::Look SlotRing::look() const {
    const auto relaxed = [](auto& value) {
        return std::atomic_ref(value).load(std::memory_order_relaxed);
    };
    Look found{};
    if (!storage_.slots) return found;
    constexpr int kTries = 8;
    for (int tries = 0; tries < kTries; ++tries) {
        const std::uint32_t first = first_.load(std::memory_order_acquire);
        // Loaded after `first`, so that it is not behind it. Posts and releases in between may make
        // the difference exceed the slots, hence the min().
        const auto next = static_cast<std::uint32_t>(relaxed(const_cast<std::uint64_t&>(next_)));
        Slot& slot = storage_.slots[first & kSequenceMask & mask_];
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
