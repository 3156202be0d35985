// SPDX-License-Identifier: BSD-2-Clause
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {

Dice::Dice() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    state_ =
        (static_cast<std::uint64_t>(getpid()) << 32 ^ static_cast<std::uint64_t>(time.tv_nsec)) | 1;
}

/// Marsaglia's xorshift64*.
std::uint64_t Dice::throw_them() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545f4914f6cdd1d) >> 16;
}

void* open_dice() {
    return new Dice;
}

void close_dice(void* dice) {
    delete static_cast<Dice*>(dice);
}

support::PageVector<Ranked> by_last_use(Dice& dice, const DAT_REG_POLICY_TABLE& table,
                                        const DAT_REG_POLICY_SLOT* slots,
                                        std::uint32_t slot_count) {
    support::PageVector<Ranked> order;
    order.reserve(slot_count);
    for (std::uint32_t i = 0; i < slot_count; ++i) {
        std::uint64_t used = slots[i].last_use;
        if (!slots[i].has_statistics && table.now > used) used += dice.below(table.now - used);
        order.push_back({used, i, slots[i].busy});
    }
    return order;
}

void sort(support::PageVector<Ranked>& order) {
    std::sort(order.begin(), order.end(), [](const Ranked& a, const Ranked& b) {
        return std::make_tuple(a.busy != 0, a.rank, a.place) <
               std::make_tuple(b.busy != 0, b.rank, b.place);
    });
}

std::uint32_t take_first(const support::PageVector<Ranked>& order, const DAT_REG_POLICY_SLOT* slots,
                         Need need, std::uint32_t* victims) {
    std::uint32_t count = 0;
    for (const Ranked& one : order) {
        if (need.met()) break;
        need.take(slots[one.place]);
        victims[count++] = one.place;
    }
    return count;
}

}  // namespace dapl::memory::policy
