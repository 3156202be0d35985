// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The registrations that the posted transfers of one side of an endpoint use: an array beside the
/// core's slots (slot_ring.hpp), indexed by the same sequence.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "dapl/transfer/side.hpp"
#include "dapl/transfer/slot_ring.hpp"

namespace dapl::memory {

class Registrations;

/// Used by one poster at a time, which holds `lock`, and by one thread that polls completions,
/// which holds the EVD's lock.
class SideUses final : public SlotShadow {
  public:
    /// One transfer's use: 0 for none, the address of a Registration, or kRecord and the number of
    /// a use record, shifted by kRecordShift. With either, kHolds for Use::kHold.
    using Entry = std::uint64_t;
    static constexpr Entry kRecord = 1;
    static constexpr Entry kHolds = 2;
    static constexpr int kRecordShift = 2;

    explicit SideUses(Registrations& registrations) : registrations_(registrations) {}
    std::unique_ptr<Storage> storage(std::uint32_t limit) const override {
        return std::make_unique<Entries>(size(limit));
    }
    void reset(std::uint32_t limit, std::unique_ptr<Storage>& storage) override REQUIRES(lock) {
        entries_.swap(static_cast<Entries&>(*storage).entries);
        mask_ = size(limit) - 1;
    }
    void end_all() override EXCLUDES(lock);
    void set(std::uint32_t sequence, Entry entry) REQUIRES(lock) {
        if (entries_) entries_[sequence & mask_].store(entry, std::memory_order_relaxed);
    }
    /// Takes the entry out, when the completion is polled. @return the entry; 0 if there is none.
    Entry take(std::uint32_t sequence) {
        std::atomic<Entry>& entry = entries_[sequence & mask_];
        const Entry found = entry.load(std::memory_order_relaxed);
        if (found) entry.store(0, std::memory_order_relaxed);
        return found;
    }

  private:
    using Array = std::unique_ptr<std::atomic<Entry>[]>;
    struct Entries final : Storage {
        explicit Entries(std::uint32_t size)
            : entries(std::make_unique<std::atomic<Entry>[]>(size)) {}
        Array entries;
    };
    /// @return twice the number of transfers that can be posted. A post writes its entry whether a
    /// slot is free or not, so the next entry must never be that of a posted transfer; an entry is
    /// taken out before its slot is released.
    static std::uint32_t size(std::uint32_t limit) { return 2 * std::bit_ceil(limit ? limit : 1); }

    Registrations& registrations_;
    Array entries_;
    std::uint32_t mask_ = 0;
};

/// @return the SideUses of a side. The adapter instance of its EP must have the broker.
inline SideUses& uses_of(const Side& side) {
    return static_cast<SideUses&>(*side.shadow);
}

}  // namespace dapl::memory
