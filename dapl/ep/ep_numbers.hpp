// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Table from queue pair number to EP, used to find the EP of a shared receive's completion. It has
/// two levels over the 24 bits of a number and is read without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace dapl {

class Ep;

/// One per adapter instance. Readers hold the lock of the EVD whose completions they process; an EP
/// is removed only when its receive EVD holds no more completions of it.
class EpNumbers {
  public:
    EpNumbers() = default;
    ~EpNumbers() {
        for (auto& block : blocks_) delete block.load(std::memory_order_relaxed);
    }
    EpNumbers(const EpNumbers&) = delete;
    EpNumbers& operator=(const EpNumbers&) = delete;

    Ep* find(std::uint32_t number) const {
        const Block* block = blocks_[number / kSize % kSize].load(std::memory_order_acquire);
        return block ? (*block)[number % kSize].load(std::memory_order_acquire) : nullptr;
    }
    /// Thread safe. Throws std::bad_alloc.
    void add(std::uint32_t number, Ep& ep) {
        std::atomic<Block*>& place = blocks_[number / kSize % kSize];
        Block* block = place.load(std::memory_order_acquire);
        if (!block) {
            auto* made = new Block{};
            if (place.compare_exchange_strong(block, made, std::memory_order_acq_rel))
                block = made;
            else
                delete made;
        }
        (*block)[number % kSize].store(&ep, std::memory_order_release);
    }
    /// Does nothing if the number already belongs to another EP. Thread safe.
    void remove(std::uint32_t number, Ep& ep) {
        Block* block = blocks_[number / kSize % kSize].load(std::memory_order_acquire);
        Ep* expected = &ep;
        if (block) (*block)[number % kSize].compare_exchange_strong(expected, nullptr);
    }

  private:
    static constexpr std::uint32_t kSize = 4096;
    using Block = std::array<std::atomic<Ep*>, kSize>;
    std::array<std::atomic<Block*>, kSize> blocks_{};  ///< blocks are freed with the table only
};

}  // namespace dapl
