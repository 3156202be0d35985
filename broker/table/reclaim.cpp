// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reclaiming what dead processes left in a table.
#include "broker/table/fault_points.hpp"
#include "broker/table/state.hpp"
#include "support/log/log.hpp"

namespace dapl::memory {
namespace {

/// Shortest time between two checks of all processes, in ns.
constexpr Time kPause = 5'000'000;

struct Suspect {
    std::uint32_t process, generation;
    ProcessIdentity identity;
};

/// @return the processes to check; none if somebody has just checked them.
support::PageVector<Suspect> suspects(State& state) REQUIRES(state.lock) {
    const Table& table = state.table;
    const Time time = now();
    support::PageVector<Suspect> found;
    if (time - table.header->looked_for_dead < kPause && time > table.header->looked_for_dead)
        return found;
    table.header->looked_for_dead = time;
    for (std::uint32_t i = 0; i < table.rows(); ++i) {
        const ProcessRow& row = table.processes[i];
        if (table.is_live(i) && i != state.process)
            found.push_back({i, row.generation, {row.pid, row.start}});
    }
    return found;
}

}  // namespace

void clear_process(State& state, std::uint32_t process) {
    const Table& table = state.table;
    for (std::uint32_t i = 0; i < table.touched(); ++i) {
        if (table.state(i) == SlotState::kFree || table.slots[i].process != process) continue;
        free_slot(table, i);
        fault_point(process == state.process ? FaultPoint::kLeaving : FaultPoint::kReclaimed);
    }
    for (std::uint32_t i = 0; i < kTickets; ++i)
        if (table.tickets[i].process == process &&
            table.tickets[i].state.load(std::memory_order_relaxed) != TicketState::kFree)
            free_ticket(table, i);
    drop_upcall(table, process, table.node_of_process(process));
    table.header->shares -= table.processes[process].share;
    table.header->told_entries = kUntold;
    table.processes[process].state = RowState::kFree;
    if (table.header->lease.process == process) tell_followers(state);
    if (is_busy(state)) ring_leader(state);
}

void reclaim_dead(State& state) {
    support::PageVector<Suspect> those;
    {
        if (!state.lock.acquire()) return;
        const TableGuard guard(state.lock, TableGuard::kTaken);
        those = suspects(state);
    }
    // /proc is slow, so it is read without the lock.
    std::erase_if(those, [](const Suspect& one) { return is_alive(one.identity); });
    if (those.empty() || !state.lock.acquire()) return;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    for (const Suspect& one : those) {
        const ProcessRow& row = state.table.processes[one.process];
        if (!state.table.is_live(one.process) || row.generation != one.generation) continue;
        state.table.header->counts.reclaimed_from_dead += row.sums.entries;
        support::trace(support::Level::kDebug, "registrations of {}: process {} has died with {}",
                       state.adapter, row.pid, row.sums.entries);
        clear_process(state, one.process);
    }
    ring_all(state);  // who died may have changed the table and woken nobody
}

}  // namespace dapl::memory
