// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The posted transfers of one direction of an EP, in posting order. A slot is free again when the
/// consumer has taken its completion, or a later one's: that is how suppressed requests come back.
#pragma once

#include "dapl/dat.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace dapl {

struct Slot {
    DAT_DTO_COOKIE cookie;
    DAT_SEG_LENGTH length;    ///< sum of the segments as posted
    std::uint32_t operation;  ///< DAT_DTOS or DAT_IB_DTOS
};

/// One poster at a time (the EP's spin lock) and one taker at a time (the EVD's lock), who do not
/// wait for each other.
class SlotRing {
  public:
    static constexpr std::uint32_t kSequenceMask = 0x7fffff;  ///< what fits into a wr_id

    /// Empties the ring. Both locks of the side are held, or nobody else knows it.
    /// @param limit transfers that may be posted and not yet taken. Throws std::bad_alloc.
    void reset(std::uint32_t limit) {
        const std::uint32_t size = std::bit_ceil(limit ? limit : 1);
        slots_ = std::make_unique<Slot[]>(size);
        limit_ = limit;
        mask_ = size - 1;
        first_ = end_ = 0;
    }

    std::uint32_t limit() const { return limit_; }
    bool full() const { return posted() >= limit_; }
    /// Posted and not yet taken.
    std::uint32_t posted() const {
        return end_.load(std::memory_order_relaxed) - first_.load(std::memory_order_acquire);
    }
    /// The slot that the next post uses; it stays free until commit().
    Slot& next() { return slots_[end_.load(std::memory_order_relaxed) & mask_]; }
    std::uint32_t next_sequence() const {
        return end_.load(std::memory_order_relaxed) & kSequenceMask;
    }
    void commit() { end_.fetch_add(1, std::memory_order_release); }
    /// Takes back a commit() whose post the device refused.
    void roll_back() { end_.fetch_sub(1, std::memory_order_release); }

    /// Frees the slots up to this one. @return false when it is not posted: a completion of an
    /// earlier life of the EP.
    bool take(std::uint32_t sequence, Slot& taken) {
        const std::uint32_t first = first_.load(std::memory_order_relaxed);
        const std::uint32_t ahead = (sequence - first) & kSequenceMask;
        if (ahead >= end_.load(std::memory_order_acquire) - first) return false;
        taken = slots_[(first + ahead) & mask_];
        first_.store(first + ahead + 1, std::memory_order_release);
        return true;
    }

  private:
    std::uint32_t limit_ = 0;
    std::uint32_t mask_ = 0;
    std::unique_ptr<Slot[]> slots_;
    std::atomic<std::uint32_t> first_{0};  ///< oldest not yet taken
    std::atomic<std::uint32_t> end_{0};
};

}  // namespace dapl
