// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records who holds which entry, independently of the table, in memory that a test shares with its
/// children. Detects an entry with two holders, and more entries in use than there are.
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
    /// Maximum number of entries of a table, which has as many spare slots.
    static constexpr std::uint32_t kMostEntries = 32;

    /// @return a checker in memory shared with children that are forked later.
    static Checker* make(std::uint32_t capacity) {
        void* memory = mmap(nullptr, sizeof(Checker), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || capacity > kMostEntries) throw std::bad_alloc();
        return new (memory) Checker(capacity);
    }

    /// Records that the calling process has got an entry.
    void got(SlotId slot) {
        const std::uint64_t before = holders_.at(slot.index).exchange(word(slot, getpid()));
        if (before != 0 && !is_dead(before))
            fault("slot %u is held by %u already", slot.index, pid_of(before));
        const std::uint64_t bits = bits_.fetch_or(bit(slot.index)) | bit(slot.index);
        if (static_cast<std::uint32_t>(std::popcount(bits)) > capacity_) check_again();
    }

    /// Records that an entry was deregistered, by its owner or by the device. @return whether
    /// `owner` held it.
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
    /// @return the number of entries that live processes hold.
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
    /// Forgets the entries of dead processes; it is a fault if there are still too many.
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
