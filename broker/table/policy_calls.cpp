// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls to the policy. It gets copies of the table's state, and what it returns is checked. It is
/// loaded without the table's lock, since that allocates.
#include <algorithm>
#include <cstring>

#include "broker/policy/policies.hpp"
#include "broker/table/share.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

DAT_REG_POLICY_TABLE view_of_table(const Table& table, Time time) {
    const Header& header = *table.header;
    return {.now = time,
            .capacity_entries = std::min(table.capacity_entries, header.limit_entries),
            .capacity_bytes = table.capacity_bytes,
            .used_entries = header.sums.entries,
            .used_bytes = header.sums.bytes,
            .shares = header.shares,
            .grace = table.grace};
}

DAT_REG_POLICY_PROCESS view_of_process(const Table& table, std::uint32_t process) {
    const ProcessRow& row = table.processes[process];
    return {.process = process,
            .share = std::max(row.share, 1u),
            .used_entries = row.sums.entries,
            .used_bytes = row.sums.bytes,
            .waiting_entries = row.sums.waiting_entries,
            .waiting_bytes = row.sums.waiting_bytes};
}

/// @return whether a slot may be taken back. An RDMA slot that its owner has not used yet is spared
/// for a grace period; otherwise waiting processes would take it from each other endlessly.
bool is_candidate(const Table& table, std::uint32_t index, Time time) {
    const SlotRecord& slot = table.slots[index];
    const SlotUse& use = table.uses[index];
    if (!stands(table, index) || slot.refused_until != 0) return false;
    switch (slot.kind) {
        case Class::kRdma:
            return use.use_count.load(std::memory_order_relaxed) != 0 ||
                   use.last_use.load(std::memory_order_relaxed) != 0 ||
                   time - slot.made >= table.grace;
        case Class::kMessaging:
            return use.busy.load(std::memory_order_relaxed) == 0;
        default:
            return false;
    }
}

DAT_REG_POLICY_SLOT view_of_slot(const Table& table, std::uint32_t index) {
    const SlotRecord& slot = table.slots[index];
    const SlotUse& use = table.uses[index];
    const std::uint64_t last_use = use.last_use.load(std::memory_order_relaxed);
    const std::uint64_t use_count = use.use_count.load(std::memory_order_relaxed);
    return {.slot = index,
            .process = slot.process,
            .length = slot.length,
            .last_use = last_use != 0 ? last_use : slot.made,
            .use_count = use_count,
            .busy = use.busy.load(std::memory_order_relaxed),
            .has_statistics = last_use != 0 || use_count != 0,
            .reference = slot.reference};
}

support::PageVector<DAT_REG_POLICY_SLOT> views_of(const Table& table,
                                                  const support::PageVector<std::uint32_t>& slots) {
    support::PageVector<DAT_REG_POLICY_SLOT> views;
    views.reserve(slots.size());
    for (const std::uint32_t slot : slots) views.push_back(view_of_slot(table, slot));
    return views;
}

/// @return the slots at the places that the policy chose, without repeated and invalid ones.
support::PageVector<std::uint32_t> checked(const support::PageVector<std::uint32_t>& victims,
                                           std::uint32_t count,
                                           const support::PageVector<DAT_REG_POLICY_SLOT>& slots) {
    support::PageVector<std::uint32_t> chosen;
    support::PageVector<char> seen(slots.size());
    for (std::uint32_t i = 0; i < count && i < victims.size(); ++i) {
        const std::uint32_t place = victims[i];
        if (place >= slots.size() || seen[place]) continue;
        seen[place] = 1;
        chosen.push_back(slots[place].slot);
    }
    return chosen;
}

support::PageVector<std::uint32_t> choose_from(State& state, Time time, std::uint32_t beneficiary,
                                               const policy::Need& need,
                                               const support::PageVector<std::uint32_t>& candidates)
    REQUIRES(state.lock) {
    if (candidates.empty()) return {};
    const Table& table = state.table;
    const Policy& policy = *state.policy;
    support::PageVector<DAT_REG_POLICY_SLOT> slots = views_of(table, candidates);
    support::PageVector<DAT_REG_POLICY_PROCESS> processes;
    for (std::uint32_t i = 0; i < table.rows(); ++i)
        if (table.is_live(i)) processes.push_back(view_of_process(table, i));
    const DAT_REG_POLICY_TABLE whole = view_of_table(table, time);
    support::PageVector<std::uint32_t> victims(slots.size());
    const std::uint32_t count = policy.functions().choose(
        policy.state(), &whole, beneficiary, processes.data(),
        static_cast<std::uint32_t>(processes.size()), slots.data(),
        static_cast<std::uint32_t>(slots.size()), need.entries(), need.bytes(), victims.data());
    for (const DAT_REG_POLICY_SLOT& slot : slots) table.slots[slot.slot].reference = slot.reference;
    return checked(victims, count, slots);
}

}  // namespace

void load_policy(State& state) {
    if (!state.is_here()) return;  // a child has no table
    const auto& generation = state.table.header->policy_generation;
    if (generation.load(std::memory_order_relaxed) ==
        state.policy_generation.load(std::memory_order_relaxed))
        return;
    std::string name(kNameRoom, '\0');
    std::uint32_t seen = 0;
    if (!state.lock.acquire()) return;
    {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        name.assign(state.table.header->policy, strnlen(state.table.header->policy, kNameRoom));
        seen = generation.load(std::memory_order_relaxed);
    }
    std::unique_ptr<Policy> loaded = Policy::load(name);
    if (!loaded) loaded = Policy::load(kDefaultPolicy);
    if (!state.lock.acquire()) return;
    {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        state.policy.swap(loaded);
        state.policy_generation.store(seen, std::memory_order_relaxed);
    }
}

bool takes_back(State& state) {
    return state.policy->functions().choose != nullptr;
}

bool admits(State& state, std::uint32_t process, std::uint64_t bytes) {
    const Policy& policy = *state.policy;
    if (!policy.functions().admit) return true;
    const DAT_REG_POLICY_TABLE table = view_of_table(state.table, now());
    const DAT_REG_POLICY_PROCESS one = view_of_process(state.table, process);
    return policy.functions().admit(policy.state(), &table, &one, bytes) != 0;
}

support::PageVector<std::uint32_t> choose(State& state, Time time, std::uint32_t beneficiary,
                                          std::uint64_t entries, std::uint64_t bytes) {
    const Table& table = state.table;
    if (!takes_back(state)) return {};
    const BeyondShares beyond = kept_beyond_shares(table);
    support::PageVector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < table.touched(); ++i)
        if (is_candidate(table, i, time)) candidates.push_back(i);
    candidates.insert(candidates.end(), beyond.slots.begin(), beyond.slots.end());
    policy::Need need(entries, bytes);
    support::PageVector<std::uint32_t> chosen =
        choose_from(state, time, beneficiary, need, candidates);
    for (const std::uint32_t slot : chosen) need.take(view_of_slot(table, slot));
    if (need.met()) return chosen;
    for (const std::uint32_t slot : choose_from(state, time, beneficiary, need, beyond.last))
        chosen.push_back(slot);
    return chosen;
}

}  // namespace dapl::memory
