// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Slots of the receives that are posted on a shared receive queue. Receives complete in any order
/// and in any EVD, so a slot is freed without a lock.
#pragma once

#include "dapl/base/dat.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace dapl {

/// Posters hold the SRQ's lock; takers of completions need no lock. Slots never move: a larger
/// queue gets a further block of them.
class SharedSlots {
  public:
    struct Receive {
        DAT_DTO_COOKIE cookie;
        std::uint32_t order;  ///< sequence number of the post
    };

    SharedSlots() = default;
    ~SharedSlots() {
        for (auto& block : blocks_) delete[] block.load(std::memory_order_relaxed);
    }
    SharedSlots(const SharedSlots&) = delete;
    SharedSlots& operator=(const SharedSlots&) = delete;

    /// Allocates slots for at least `wanted` receives. One caller at a time; others may post
    /// meanwhile. Throws std::bad_alloc.
    void reserve(std::uint32_t wanted) {
        while (made_ < wanted) add_block();
    }

    /// Returns the number of slots in use: posted and not yet freed.
    std::uint32_t posted() const { return posted_.load(std::memory_order_acquire); }

    /// For a poster: fills a free slot; fewer are in use than reserved. @return the slot's index.
    std::uint32_t post(DAT_DTO_COOKIE cookie) {
        if (free_ == kEnd) free_ = returned_.exchange(kEnd, std::memory_order_acquire);
        const std::uint32_t index = free_;
        Slot& slot = made(index);
        free_ = slot.next.load(std::memory_order_relaxed);
        slot.receive = {cookie, order_++};
        posted_.fetch_add(1, std::memory_order_relaxed);
        slot.next.store(kPosted, std::memory_order_release);
        return index;
    }
    /// For a poster: undoes the last post(), whose receive the device refused.
    void take_back(std::uint32_t index) {
        --order_;
        give_back(index, made(index));
    }

    /// Frees the slot of a completed receive. @return false if nothing is posted in it.
    bool take(std::uint32_t index, Receive& taken) {
        if (!peek(index, taken)) return false;
        give_back(index, made(index));
        return true;
    }
    /// The same, but leaves the slot in use.
    bool peek(std::uint32_t index, Receive& found) const {
        const Slot* slot = at(index);
        if (!slot || slot->next.load(std::memory_order_acquire) != kPosted) return false;
        found = slot->receive;
        return true;
    }

  private:
    struct Slot {
        Receive receive;
        std::atomic<std::uint32_t> next;  ///< next free slot, kEnd or kPosted
    };
    static constexpr std::uint32_t kEnd = ~0U;
    static constexpr std::uint32_t kPosted = ~0U - 1;
    static constexpr int kFirstBits = 6;  // log2 of the first block; further ones double the total
    static constexpr int kBlocks = 24 - kFirstBits;

    static int block_of(std::uint32_t index) { return std::bit_width(index >> kFirstBits); }
    static std::uint32_t first_of(int block) {
        return block == 0 ? 0 : 1U << (kFirstBits + block - 1);
    }
    Slot& made(std::uint32_t index) const {
        const int block = block_of(index);
        return blocks_[block].load(std::memory_order_acquire)[index - first_of(block)];
    }
    /// For an index from a device. @return nullptr if there is no such slot.
    Slot* at(std::uint32_t index) const {
        const int block = block_of(index);
        const bool is_made = block < kBlocks && blocks_[block].load(std::memory_order_acquire);
        return is_made ? &made(index) : nullptr;
    }
    void give_back(std::uint32_t index, Slot& slot) {
        push(index, slot);
        // Last: whoever sees the lower count sees the free slot.
        posted_.fetch_sub(1, std::memory_order_release);
    }
    /// Gives back a chain of free slots. @param first index of its first. @param last its last.
    void push(std::uint32_t first, Slot& last) {
        std::uint32_t behind = returned_.load(std::memory_order_relaxed);
        do {
            last.next.store(behind, std::memory_order_relaxed);
        } while (!returned_.compare_exchange_weak(behind, first, std::memory_order_release,
                                                  std::memory_order_relaxed));
    }
    void add_block() {
        const int block = block_of(made_);
        const std::uint32_t count = block == 0 ? 1U << kFirstBits : made_;
        auto* slots = new Slot[count];
        for (std::uint32_t i = 0; i + 1 < count; ++i)
            slots[i].next.store(made_ + i + 1, std::memory_order_relaxed);
        blocks_[block].store(slots, std::memory_order_release);
        push(made_, slots[count - 1]);
        made_ += count;
    }

    std::array<std::atomic<Slot*>, kBlocks> blocks_{};
    std::uint32_t made_ = 0;
    std::uint32_t free_ = kEnd;  ///< free list of the posters
    std::uint32_t order_ = 0;
    std::atomic<std::uint32_t> returned_{kEnd};  ///< freed slots that no poster has fetched yet
    std::atomic<std::uint32_t> posted_{0};
};

}  // namespace dapl
