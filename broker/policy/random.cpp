// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// random: takes any slots, whoever owns them.
#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

std::uint32_t choose(void* dice, const DAT_REG_POLICY_TABLE*, std::uint32_t,
                     const DAT_REG_POLICY_PROCESS*, std::uint32_t, DAT_REG_POLICY_SLOT* slots,
                     std::uint32_t slot_count, std::uint64_t entries, std::uint64_t bytes,
                     std::uint32_t* victims) {
    support::PageVector<Ranked> order;
    for (std::uint32_t i = 0; i < slot_count; ++i)
        order.push_back({static_cast<Dice*>(dice)->throw_them(), i, 0});
    sort(order);
    return take_first(order, slots, Need(entries, bytes), victims);
}

}  // namespace

const DAT_REG_POLICY kRandom{
    DAT_REG_POLICY_VERSION, "random", open_dice, close_dice, nullptr, choose};

}  // namespace dapl::memory::policy
