// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// weighted-fair-lru: takes the least recently used registration of the process that is furthest
/// above its share. A waiting process that would get further above its share than any other borrows
/// what others have not used for long, and gives up its own where there is nothing idle. What it
/// has borrowed comes back as soon as its owner wants it: it then is furthest above its share.
#include <algorithm>

#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {
namespace {

/// A registration that has not been used for so many grace periods, and not for so many ns, is
/// idle. Shorter than that, a process between two bursts would lose what it needs for the next one.
constexpr std::uint64_t kIdlePeriods = 20;
constexpr std::uint64_t kLeastIdle = 100'000'000;

/// A process, and the slots that may be taken from it.
struct Giver {
    std::uint32_t process, share;
    std::uint64_t used;
    support::PageVector<Ranked> order;  ///< the next one to go is the last
};

/// @return whether `a` uses more than `b` in proportion to its share; compares without a division.
bool is_further(std::uint64_t used_a, std::uint32_t share_a, std::uint64_t used_b,
                std::uint32_t share_b) {
    return static_cast<unsigned __int128>(used_a) * share_b >
           static_cast<unsigned __int128>(used_b) * share_a;
}

support::PageVector<Giver> givers_of(Dice& dice, const DAT_REG_POLICY_TABLE& table,
                                     const DAT_REG_POLICY_PROCESS* processes,
                                     std::uint32_t process_count, const DAT_REG_POLICY_SLOT* slots,
                                     std::uint32_t slot_count) {
    support::PageVector<Giver> givers;
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

/// @return the process whose next slot has been idle for longest; nullptr if none is idle.
Giver* idlest(support::PageVector<Giver>& givers, const Giver* beneficiary,
              const DAT_REG_POLICY_TABLE& table, const DAT_REG_POLICY_SLOT* slots) {
    Giver* found = nullptr;
    const std::uint64_t idle = std::max(kIdlePeriods * table.grace, kLeastIdle);
    std::uint64_t oldest = table.now - std::min(table.now, idle);
    for (Giver& giver : givers) {
        if (&giver == beneficiary || giver.order.empty()) continue;
        const DAT_REG_POLICY_SLOT& next = slots[giver.order.back().place];
        if (next.busy != 0 || next.last_use >= oldest) continue;
        oldest = next.last_use;
        found = &giver;
    }
    return found;
}

/// @return the process that has to give next; nullptr if none has anything left.
Giver* next_giver(support::PageVector<Giver>& givers, const Giver* beneficiary,
                  std::uint64_t gained, const DAT_REG_POLICY_TABLE& table,
                  const DAT_REG_POLICY_SLOT* slots) {
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
    if (others_have_more) return furthest;
    Giver* const lender = idlest(givers, beneficiary, table, slots);
    return lender ? lender : self;
}

std::uint32_t choose(void* dice, const DAT_REG_POLICY_TABLE* table, std::uint32_t beneficiary,
                     const DAT_REG_POLICY_PROCESS* processes, std::uint32_t process_count,
                     DAT_REG_POLICY_SLOT* slots, std::uint32_t slot_count, std::uint64_t entries,
                     std::uint64_t bytes, std::uint32_t* victims) {
    support::PageVector<Giver> givers =
        givers_of(*static_cast<Dice*>(dice), *table, processes, process_count, slots, slot_count);
    const auto self = std::find_if(givers.begin(), givers.end(), [&](const Giver& giver) {
        return giver.process == beneficiary;
    });
    const Giver* const for_whom = self == givers.end() ? nullptr : &*self;
    Need need(entries, bytes);
    std::uint32_t count = 0;
    while (!need.met()) {
        Giver* const giver = next_giver(givers, for_whom, count + 1, *table, slots);
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
