// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A record of who holds which entry, beside the table and independent of it, in memory that a test
/// shares with its children. It notices an entry that two have, and more entries than there are.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdio>
#include <new>

#include "broker/table/process_identity.hpp"
#include "test/broker/registration_fixture.hpp"

namespace registration {

class Checker {
  public:
    /// Of tables with so many entries, and as many spare slots.
    static constexpr std::uint32_t kMostEntries = 32;

    /// Shared with the children that are forked later.
    static Checker* make(std::uint32_t capacity) {
        void* memory = mmap(nullptr, sizeof(Checker), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || capacity > kMostEntries) throw std::bad_alloc();
        return new (memory) Checker(capacity);
    }

    /// Somebody has got an entry.
    void got(SlotId slot) {
        const std::uint64_t before = holders_.at(slot.index).exchange(word(slot, getpid()));
        if (before != 0 && !is_dead(before))
            fault("slot %u is held by %u already", slot.index, pid_of(before));
        const std::uint64_t bits = bits_.fetch_or(bit(slot.index)) | bit(slot.index);
        if (static_cast<std::uint32_t>(std::popcount(bits)) > capacity_) check_again();
    }

    /// It is deregistered, by its owner or by the device. @return whether it was there.
    bool gone(SlotId slot, pid_t owner) {
        std::uint64_t expected = word(slot, owner);
        if (!holders_.at(slot.index).compare_exchange_strong(expected, 0)) return false;
        bits_.fetch_and(~bit(slot.index));
        return true;
    }

    bool holds(SlotId slot) const { return holders_.at(slot.index) == word(slot, getpid()); }

    template <class... Arguments>
    void fault(const char* format, Arguments... arguments) {
        ++faults_;
        fprintf(stderr, "# checker: ");
        fprintf(stderr, format, arguments...);
        fputc('\n', stderr);
    }
    int faults() const { return faults_; }
    void count(std::uint64_t operations) { operations_ += operations; }
    std::uint64_t operations() const { return operations_; }
    /// What nobody who lives holds is no entry.
    std::uint32_t held() const {
        std::uint32_t held = 0;
        for (const auto& holder : holders_) {
            const std::uint64_t one = holder;
            held += one != 0 && !is_dead(one);
        }
        return held;
    }

    std::atomic<bool> stop{false};

  private:
    explicit Checker(std::uint32_t capacity) : capacity_(capacity) {}

    static std::uint64_t bit(std::uint32_t slot) { return std::uint64_t{1} << slot; }
    static std::uint64_t word(SlotId slot, pid_t owner) {
        return static_cast<std::uint64_t>(owner) << 32 | slot.generation;
    }
    static std::uint32_t pid_of(std::uint64_t word) {
        return static_cast<std::uint32_t>(word >> 32);
    }
    static bool is_dead(std::uint64_t word) {
        return !is_alive({static_cast<std::int32_t>(pid_of(word)), 0});
    }
    /// Among so many, some may be dead processes'.
    void check_again() {
        for (std::uint32_t i = 0; i < holders_.size(); ++i) {
            const std::uint64_t holder = holders_[i];
            if (holder == 0 || is_dead(holder)) bits_.fetch_and(~bit(i));
        }
        const std::uint64_t bits = bits_;
        if (static_cast<std::uint32_t>(std::popcount(bits)) > capacity_)
            fault("%d entries of %u are held", std::popcount(bits), capacity_);
    }

    const std::uint32_t capacity_;
    std::array<std::atomic<std::uint64_t>, 2 * kMostEntries> holders_{};
    std::atomic<std::uint64_t> bits_{0}, operations_{0};
    std::atomic<int> faults_{0};
};

}  // namespace registration
