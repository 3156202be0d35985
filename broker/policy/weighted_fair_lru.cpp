// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// weighted-fair-lru: takes the least recently used registration of the process that is furthest
/// above its share. A waiting process that would get further above its share than any other gives
/// up its own.
#include <algorithm>

#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

/// A process, and the slots that may be taken from it.
struct Giver {
    std::uint32_t process, share;
    std::uint64_t used;
    std::vector<Ranked> order;  ///< the next one to go is the last
};

/// @return whether `a` uses more than `b` in proportion to its share; compares without a division.
bool is_further(std::uint64_t used_a, std::uint32_t share_a, std::uint64_t used_b,
                std::uint32_t share_b) {
    return static_cast<unsigned __int128>(used_a) * share_b >
           static_cast<unsigned __int128>(used_b) * share_a;
}

std::vector<Giver> givers_of(Dice& dice, const DAT_REG_POLICY_TABLE& table,
                             const DAT_REG_POLICY_PROCESS* processes, std::uint32_t process_count,
                             const DAT_REG_POLICY_SLOT* slots, std::uint32_t slot_count) {
    std::vector<Giver> givers;
    for (std::uint32_t i = 0; i < process_count; ++i)
        givers.push_back({processes[i].process, processes[i].share, processes[i].used_entries, {}});
    // The processes are sorted by number.
    for (const Ranked& one : by_last_use(dice, table, slots, slot_count)) {
        const auto giver = std::lower_bound(
            givers.begin(), givers.end(), slots[one.place].process,
            [](const Giver& a, std::uint32_t number) { return a.process < number; });
        if (giver != givers.end() && giver->process == slots[one.place].process)
            giver->order.push_back(one);
    }
    for (Giver& giver : givers) {
        sort(giver.order);
        std::reverse(giver.order.begin(), giver.order.end());
    }
    return givers;
}

/// @return the process that has to give next; nullptr if none has anything left.
Giver* next_giver(std::vector<Giver>& givers, const Giver* beneficiary, std::uint64_t gained) {
    Giver* furthest = nullptr;
    Giver* self = nullptr;
    for (Giver& giver : givers) {
        if (giver.order.empty()) continue;
        if (&giver == beneficiary)
            self = &giver;
        else if (!furthest || is_further(giver.used, giver.share, furthest->used, furthest->share))
            furthest = &giver;
    }
    if (!furthest || !self) return furthest ? furthest : self;
    const bool others_have_more =
        is_further(furthest->used, furthest->share, self->used + gained, self->share);
    return others_have_more ? furthest : self;
}

std::uint32_t choose(void* dice, const DAT_REG_POLICY_TABLE* table, std::uint32_t beneficiary,
                     const DAT_REG_POLICY_PROCESS* processes, std::uint32_t process_count,
                     DAT_REG_POLICY_SLOT* slots, std::uint32_t slot_count, std::uint64_t entries,
                     std::uint64_t bytes, std::uint32_t* victims) {
    std::vector<Giver> givers =
        givers_of(*static_cast<Dice*>(dice), *table, processes, process_count, slots, slot_count);
    const auto self = std::find_if(givers.begin(), givers.end(), [&](const Giver& giver) {
        return giver.process == beneficiary;
    });
    const Giver* const for_whom = self == givers.end() ? nullptr : &*self;
    Need need(entries, bytes);
    std::uint32_t count = 0;
    while (!need.met()) {
        Giver* const giver = next_giver(givers, for_whom, count + 1);
        if (!giver) break;
        const std::uint32_t place = giver->order.back().place;
        giver->order.pop_back();
        giver->used -= giver->used != 0;
        need.take(slots[place]);
        victims[count++] = place;
    }
    return count;
}

}  // namespace

const DAT_REG_POLICY kWeightedFairLru{
    DAT_REG_POLICY_VERSION, "weighted-fair-lru", open_dice, close_dice, nullptr, choose};

}  // namespace dapl::memory::policy
