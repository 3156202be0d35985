// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/share.hpp"

#include <algorithm>

#include "broker/policy/policies.hpp"
#include "broker/table/accounting.hpp"

namespace dapl::memory {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

bool holds(const Amount& limit, const Amount& kept, std::uint64_t bytes) {
    return kept.entries < limit.entries && bytes <= limit.bytes &&
           kept.bytes <= limit.bytes - bytes;
}

struct Kept {
    std::uint32_t slot, process;
    bool peers;    ///< Class::kPeers: comes first
    bool delayed;  ///< its owner has already been granted a delay
    std::uint64_t last_use;
};

/// @return what is kept: process by process, and of each what is to stay first.
support::PageVector<Kept> all_kept(const Table& table) {
    support::PageVector<Kept> kept;
    for (std::uint32_t i = 0; i < table.touched(); ++i) {
        if (!is_kept(table, i)) continue;
        const std::uint64_t last_use = table.uses[i].last_use.load(std::memory_order_relaxed);
        const SlotRecord& slot = table.slots[i];
        kept.push_back({i, slot.process, slot.kind == Class::kPeers, slot.refused_once != 0,
                        last_use != 0 ? last_use : slot.made});
    }
    std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) {
        if (a.process != b.process) return a.process < b.process;
        if (a.peers != b.peers) return a.peers;
        if (a.delayed != b.delayed) return b.delayed;
        return a.last_use > b.last_use;
    });
    return kept;
}

}  // namespace

Amount share_of(const Table& table, std::uint32_t process) {
    const Amount whole = limit_of(table);
    const std::uint64_t shares = std::max<std::uint64_t>(table.header->shares, 1);
    const std::uint64_t share = std::min<std::uint64_t>(table.processes[process].share, shares);
    const std::uint64_t entries = policy::part_of(whole.entries, share, shares);
    const bool limited = whole.bytes != kNoLimit;
    return {std::max<std::uint64_t>(entries, 1),
            limited ? policy::part_of(whole.bytes, share, shares) : kNoLimit};
}

bool stands(const Table& table, std::uint32_t slot) {
    const SlotRecord& record = table.slots[slot];
    return table.state(slot) == SlotState::kActive && !record.ended && record.ticket == kNone &&
           table.is_live(record.process);
}

bool is_kept(const Table& table, std::uint32_t slot) {
    const SlotRecord& record = table.slots[slot];
    if (!stands(table, slot)) return false;
    if (record.refused_until != 0 || is_pinned(record.kind)) return true;
    return record.kind == Class::kMessaging &&
           table.uses[slot].busy.load(std::memory_order_relaxed) != 0;
}

BeyondShares kept_beyond_shares(const Table& table) {
    BeyondShares beyond;
    std::uint32_t process = kNone;
    Amount limit, kept;
    for (const Kept& one : all_kept(table)) {
        if (one.process != process) {
            process = one.process;
            limit = share_of(table, process);
            kept = {};
        }
        const std::uint64_t bytes = table.slots[one.slot].length;
        if (holds(limit, kept, bytes)) {
            ++kept.entries;
            kept.bytes += bytes;
        } else {
            (one.peers ? beyond.last : beyond.slots).push_back(one.slot);
        }
    }
    return beyond;
}

bool may_keep(const Table& table, std::uint32_t process, std::uint64_t bytes) {
    Amount kept;
    for (std::uint32_t i = 0; i < table.touched(); ++i) {
        if (table.slots[i].process != process || !is_kept(table, i)) continue;
        ++kept.entries;
        kept.bytes += table.slots[i].length;
    }
    return holds(share_of(table, process), kept, bytes);
}

bool is_impossible(const Table& table, std::uint64_t bytes, bool all_is_kept) {
    const Amount whole{table.capacity_entries,
                       table.capacity_bytes == 0 ? kNoLimit : table.capacity_bytes};
    const auto fits = [&](const Amount& kept) { return holds(whole, kept, bytes); };
    const Sums& sums = table.header->sums;
    const Amount all{sums.pinned_entries + sums.refused_entries,
                     sums.pinned_bytes + sums.refused_bytes};
    if (all_is_kept || fits(all)) return !fits(all);
    Amount kept;
    for (std::uint32_t i = 0; i < table.rows(); ++i) {
        if (!table.is_live(i)) continue;
        const Sums& own = table.processes[i].sums;
        const Amount limit = share_of(table, i);
        kept.entries += std::min(own.pinned_entries + own.refused_entries, limit.entries);
        kept.bytes += std::min(own.pinned_bytes + own.refused_bytes, limit.bytes);
    }
    return !fits(kept);
}

}  // namespace dapl::memory
