// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The policies that are built in, and what they share.
#pragma once

#include <dat2/dat_reg_policy.h>

#include <cstdint>
#include <vector>

namespace dapl::memory::policy {

extern const DAT_REG_POLICY kNone, kStaticQuota, kRandom, kLru, kLfu, kClock, kWeightedFairLru;

/// What is still needed, as victims are chosen one by one.
class Need {
  public:
    Need(std::uint64_t entries, std::uint64_t bytes) : entries_(entries), bytes_(bytes) {}
    bool met() const { return entries_ == 0 && bytes_ == 0; }
    void take(const DAT_REG_POLICY_SLOT& victim) {
        entries_ -= entries_ != 0;
        bytes_ -= victim.length < bytes_ ? victim.length : bytes_;
    }

  private:
    std::uint64_t entries_, bytes_;
};

/// Numbers that nobody has to guess, but that differ from process to process.
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

/// An order by one number: slots with the smallest are taken first, among them those not busy
/// before all that are.
struct Ranked {
    std::uint64_t rank;
    std::uint32_t place, busy;
};
/// Ranks by last use. Of one whose use nobody tells of, some time since it was made.
std::vector<Ranked> by_last_use(Dice& dice, const DAT_REG_POLICY_TABLE& table,
                                const DAT_REG_POLICY_SLOT* slots, std::uint32_t slot_count);
void sort(std::vector<Ranked>& order);
/// The first ones until the need is met. @return how many.
std::uint32_t take_first(const std::vector<Ranked>& order, const DAT_REG_POLICY_SLOT* slots,
                         Need need, std::uint32_t* victims);

}  // namespace dapl::memory::policy
