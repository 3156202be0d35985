// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The built-in policies, and what they share.
#pragma once

#include <dat2/dat_reg_policy.h>

#include <cstdint>

#include "support/base/page_allocator.hpp"

namespace dapl::memory::policy {

extern const DAT_REG_POLICY kNone, kStaticQuota, kRandom, kLru, kLfu, kClock, kWeightedFairLru;

/// @return `share` of `shares` equal parts, rounded down. @param share at most `shares`.
inline std::uint64_t part_of(std::uint64_t whole, std::uint64_t share, std::uint64_t shares) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(whole) * share / shares);
}

/// Tracks how much is still needed, while victims are chosen one by one.
class Need {
  public:
    Need(std::uint64_t entries, std::uint64_t bytes) : entries_(entries), bytes_(bytes) {}
    bool met() const { return entries_ == 0 && bytes_ == 0; }
    std::uint64_t entries() const { return entries_; }
    std::uint64_t bytes() const { return bytes_; }
    void take(const DAT_REG_POLICY_SLOT& victim) {
        entries_ -= entries_ != 0;
        bytes_ -= victim.length < bytes_ ? victim.length : bytes_;
    }

  private:
    std::uint64_t entries_, bytes_;
};

/// Random numbers that differ from process to process, but need not be unpredictable.
class Dice {
  public:
    Dice();
    std::uint64_t throw_them();
    /// @return less than `sides`, which is not 0.
    std::uint64_t below(std::uint64_t sides) { return throw_them() % sides; }

  private:
    std::uint64_t state_;
};
void* open_dice();
void close_dice(void* dice);

/// A slot with a rank. sort() puts idle slots before busy ones, and among each those with the
/// smallest rank first.
struct Ranked {
    std::uint64_t rank;
    std::uint32_t place, busy;
};
/// Ranks slots by their last use. One without statistics gets a random time since it was made.
support::PageVector<Ranked> by_last_use(Dice& dice, const DAT_REG_POLICY_TABLE& table,
                                        const DAT_REG_POLICY_SLOT* slots, std::uint32_t slot_count);
void sort(support::PageVector<Ranked>& order);
/// Writes the first slots to `victims` until the need is met. @return how many.
std::uint32_t take_first(const support::PageVector<Ranked>& order, const DAT_REG_POLICY_SLOT* slots,
                         Need need, std::uint32_t* victims);

}  // namespace dapl::memory::policy
