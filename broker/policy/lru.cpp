// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// lru: takes the least recently used registrations, whoever owns them.
#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

std::uint32_t choose(void* dice, const DAT_REG_POLICY_TABLE* table, std::uint32_t,
                     const DAT_REG_POLICY_PROCESS*, std::uint32_t, DAT_REG_POLICY_SLOT* slots,
                     std::uint32_t slot_count, std::uint64_t entries, std::uint64_t bytes,
                     std::uint32_t* victims) {
    support::PageVector<Ranked> order =
        by_last_use(*static_cast<Dice*>(dice), *table, slots, slot_count);
    sort(order);
    return take_first(order, slots, Need(entries, bytes), victims);
}

}  // namespace

const DAT_REG_POLICY kLru{DAT_REG_POLICY_VERSION, "lru", open_dice, close_dice, nullptr, choose};

}  // namespace dapl::memory::policy
