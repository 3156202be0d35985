// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Answers of the owner of a registration to an announcement, and the release of its entry.
#include <algorithm>

#include "broker/table/fault_points.hpp"
#include "broker/table/share.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

bool is_ours(const State& state, SlotId slot) REQUIRES(state.lock) {
    return slot.index < state.table.slot_count && slot.generation != 0 &&
           state.table.slots[slot.index].generation == slot.generation &&
           state.table.slots[slot.index].process == state.process &&
           state.table.state(slot.index) != SlotState::kFree;
}

bool is_announced(const State& state, SlotId slot) REQUIRES(state.lock) {
    return is_ours(state, slot) && state.table.state(slot.index) == SlotState::kAnnounced;
}

void forget_upcall(State& state, SlotId slot) REQUIRES(state.lock) {
    drop_upcall(state.table, state.process, state.table.node_of_slot(slot.index));
}

/// Withdraws an announcement.
void stays(SlotUse& use) {
    use.deadline.store(kNever, std::memory_order_relaxed);
    use.state.store(SlotState::kActive, std::memory_order_release);
}

}  // namespace

void Broker::describe(SlotId slot, const OnDevice& made) {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_ours(state, slot)) return;
    change_slot(state.table, slot.index, [&](SlotRecord& record, SlotUse&) {
        record.key = made.key.value_or(0);
        record.named = made.key.has_value();
        record.counted = made.counted;
    });
}

void Broker::release(SlotId slot) {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_ours(state, slot)) return;
    state.row().released += is_leaving(state.table.state(slot.index));
    free_slot(state.table, slot.index);
    if (is_busy(state)) ring_leader(state);
}

bool Broker::accept(SlotId slot) {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return false;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_announced(state, slot)) return false;
    forget_upcall(state, slot);
    change_slot(state.table, slot.index, [&](SlotRecord&, SlotUse& use) {
        use.state.store(SlotState::kReleased, std::memory_order_release);
        fault_point(FaultPoint::kAccepted);
    });
    return true;
}

bool Broker::offer(SlotId slot, SlotId other) {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return false;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    const Table& table = state.table;
    if (!is_announced(state, slot) || !is_ours(state, other)) return false;
    const SlotRecord& second = table.slots[other.index];
    if (table.state(other.index) != SlotState::kActive || is_pinned(second.kind) ||
        second.refused_until != 0 || second.length < table.slots[slot.index].length)
        return false;
    forget_upcall(state, slot);
    push_upcall(table, state.process, table.node_of_slot(other.index), Upcall::Kind::kAnnounced);
    const Time deadline = table.uses[slot.index].deadline.load(std::memory_order_relaxed);
    change_slot(table, other.index, [&](SlotRecord&, SlotUse& use) {
        use.deadline.store(deadline, std::memory_order_relaxed);
        use.state.store(SlotState::kAnnounced, std::memory_order_release);
    });
    fault_point(FaultPoint::kOfferedHalf);
    change_slot(table, slot.index, [](SlotRecord&, SlotUse& use) { stays(use); });
    ring(state, state.process);
    return true;
}

bool Broker::refuse(SlotId slot, Time until) {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return false;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_announced(state, slot)) return false;
    if (until == 0) return false;
    const SlotRecord& asked = state.table.slots[slot.index];
    const bool within = may_keep(state.table, state.process, asked.length);
    if (!within && asked.refused_once) return false;
    if (!within) until = std::min(until, now() + state.table.grace);
    forget_upcall(state, slot);
    change_slot(state.table, slot.index, [&](SlotRecord& record, SlotUse& use) {
        record.refused_once = !within;
        record.refused_until = until;
        stays(use);
        fault_point(FaultPoint::kRefused);
    });
    if (until != kNever) {
        Time& first = state.table.header->refusals_end;
        first = std::min(first, until);
    }
    ring_leader(state);
    return true;
}

void end_refusals(State& state, Time time) {
    const Table& table = state.table;
    Header& header = *table.header;
    if (header.refusals_end > time) return;
    Time next = kNever;
    for (std::uint32_t i = 0; i < table.touched(); ++i) {
        const Time until = table.slots[i].refused_until;
        if (table.state(i) == SlotState::kFree || until == 0 || until == kNever) continue;
        if (until <= time)
            change_slot(table, i, [](SlotRecord& slot, SlotUse&) { slot.refused_until = 0; });
        else
            next = std::min(next, until);
    }
    header.refusals_end = next;
}

}  // namespace dapl::memory
