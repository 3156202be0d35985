// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the posted transfers of one side of an endpoint use, beside the core's slots
/// (slot_ring.hpp) and found by the same sequence.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "dapl/ep/slot_ring.hpp"
#include "support/thread/mutex.hpp"

namespace dapl::memory {

/// One poster at a time, who holds the lock, and one taker, who holds the EVD's. The lock comes
/// before that of the side.
class SideUses {
  public:
    /// What one transfer uses: 0, nothing; the address of a Registration; or the number of a use
    /// record, shifted, with bit 0 set.
    using Entry = std::uint64_t;

    support::SpinLock lock;

    using Storage = std::unique_ptr<std::atomic<Entry>[]>;
    /// Throws std::bad_alloc.
    static Storage storage(std::uint32_t limit) {
        return std::make_unique<std::atomic<Entry>[]>(size(limit));
    }
    /// For slots that are empty. @param entries storage(limit); has the one before afterwards.
    void reset(std::uint32_t limit, Storage& entries) REQUIRES(lock) {
        entries_.swap(entries);
        mask_ = size(limit) - 1;
    }
    void set(std::uint32_t sequence, Entry entry) REQUIRES(lock) {
        if (entries_) entries_[sequence & mask_].store(entry, std::memory_order_relaxed);
    }
    /// For the taker. @return the entry, which is free then.
    Entry take(std::uint32_t sequence) {
        std::atomic<Entry>& entry = entries_[sequence & mask_];
        const Entry found = entry.load(std::memory_order_relaxed);
        if (found) entry.store(0, std::memory_order_relaxed);
        return found;
    }
    std::uint32_t size() const REQUIRES(lock) { return entries_ ? mask_ + 1 : 0; }

  private:
    /// Twice as many as can be posted: a slot is given back after its entry, so that the entry of
    /// the next post is free whether there is a slot for it or not.
    static std::uint32_t size(std::uint32_t limit) { return 2 * std::bit_ceil(limit ? limit : 1); }

    Storage entries_;
    std::uint32_t mask_ = 0;
};

}  // namespace dapl::memory
