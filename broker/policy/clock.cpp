// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// clock: a hand goes round the slots and takes the first one that has not been used since it last
/// passed there.
#include <algorithm>

#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

struct Clock {
    Dice dice;
    std::uint32_t hand = 0;  ///< number of the slot that is next
};

void* open() {
    return new Clock;
}

void close(void* clock) {
    delete static_cast<Clock*>(clock);
}

/// @return a number that changes with each use; never 0, which marks a slot that the hand has not
/// passed yet.
std::uint32_t mark_of(const DAT_REG_POLICY_SLOT& slot) {
    return static_cast<std::uint32_t>(slot.use_count + slot.last_use) | 1u << 31;
}

/// @return whether the hand passes the slot this time.
bool has_second_chance(Clock& clock, DAT_REG_POLICY_SLOT& slot) {
    if (slot.busy != 0) return true;
    if (!slot.has_statistics) return clock.dice.below(2) == 0;
    const std::uint32_t mark = mark_of(slot);
    if (slot.reference == mark) return false;
    slot.reference = mark;
    return true;
}

std::uint32_t choose(void* state, const DAT_REG_POLICY_TABLE*, std::uint32_t,
                     const DAT_REG_POLICY_PROCESS*, std::uint32_t, DAT_REG_POLICY_SLOT* slots,
                     std::uint32_t slot_count, std::uint64_t entries, std::uint64_t bytes,
                     std::uint32_t* victims) {
    Clock& clock = *static_cast<Clock*>(state);
    support::PageVector<std::uint32_t> round;
    for (std::uint32_t i = 0; i < slot_count; ++i) round.push_back(i);
    std::sort(round.begin(), round.end(), [&](std::uint32_t a, std::uint32_t b) {
        return slots[a].slot - clock.hand < slots[b].slot - clock.hand;
    });
    Need need(entries, bytes);
    std::uint32_t count = 0;
    // The third round takes all that is left: slots that are busy or that the dice have spared.
    for (int turn = 0; turn < 3 && !need.met(); ++turn) {
        std::erase_if(round, [&](std::uint32_t place) {
            if (need.met() || (turn < 2 && has_second_chance(clock, slots[place]))) return false;
            need.take(slots[place]);
            victims[count++] = place;
            clock.hand = slots[place].slot + 1;
            return true;
        });
    }
    return count;
}

}  // namespace

const DAT_REG_POLICY kClock{DAT_REG_POLICY_VERSION, "clock", open, close, nullptr, choose};

}  // namespace dapl::memory::policy
