// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// lfu: takes the least frequently used registrations, whoever owns them. A slot without statistics
/// gets a random count.
#include <algorithm>

#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

constexpr std::uint64_t kAnyNumber = 1 << 30;

std::uint32_t choose(void* dice, const DAT_REG_POLICY_TABLE*, std::uint32_t,
                     const DAT_REG_POLICY_PROCESS*, std::uint32_t, DAT_REG_POLICY_SLOT* slots,
                     std::uint32_t slot_count, std::uint64_t entries, std::uint64_t bytes,
                     std::uint32_t* victims) {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < slot_count; ++i) most = std::max(most, slots[i].use_count);
    if (most == 0) most = kAnyNumber;
    support::PageVector<Ranked> order;
    for (std::uint32_t i = 0; i < slot_count; ++i) {
        const std::uint64_t uses =
            slots[i].has_statistics ? slots[i].use_count : static_cast<Dice*>(dice)->below(most);
        order.push_back({uses, i, slots[i].busy});
    }
    sort(order);
    return take_first(order, slots, Need(entries, bytes), victims);
}

}  // namespace

const DAT_REG_POLICY kLfu{DAT_REG_POLICY_VERSION, "lfu", open_dice, close_dice, nullptr, choose};

}  // namespace dapl::memory::policy
