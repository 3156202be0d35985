// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// From a queue pair's number to its EP: what a completion of a shared receive says about whose it
/// is. Two levels over the 24 bits of a number; read without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace dapl {

class Ep;

/// One per adapter instance. Readers hold the lock of the EVD whose completions they look at, and
/// an EP leaves when that EVD has no completion of its any more.
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
    /// Nothing happens where the number has gone to another EP already. Thread safe.
    void remove(std::uint32_t number, Ep& ep) {
        Block* block = blocks_[number / kSize % kSize].load(std::memory_order_acquire);
        Ep* expected = &ep;
        if (block) (*block)[number % kSize].compare_exchange_strong(expected, nullptr);
    }

  private:
    static constexpr std::uint32_t kSize = 4096;
    using Block = std::array<std::atomic<Ep*>, kSize>;
    std::array<std::atomic<Block*>, kSize> blocks_{};  ///< never freed while the instance is open
};

}  // namespace dapl
