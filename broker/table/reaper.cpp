// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Takes registrations back for the holder of the lease: it revokes announcements past their
/// deadline, serves the queue, and takes back as much as waiters need.
#include <algorithm>
#include <array>

#include "broker/table/fault_points.hpp"
#include "broker/table/repair.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

struct Need {
    std::uint64_t entries, bytes;
    bool nothing() const { return entries == 0 && bytes == 0; }
};

std::uint64_t less(std::uint64_t from, std::uint64_t what) {
    return from > what ? from - what : 0;
}

/// @return what is free or about to be.
Need available(const Table& table) {
    const Sums& sums = table.header->sums;
    const Amount limit = limit_of(table);
    return {less(limit.entries + sums.coming_entries, sums.entries),
            limit.bytes == ~std::uint64_t{0} ? limit.bytes
                                             : less(limit.bytes + sums.coming_bytes, sums.bytes)};
}

/// Announces to its owner that a slot is taken back at the deadline.
void announce(State& state, std::uint32_t index, Time deadline) REQUIRES(state.lock) {
    const Table& table = state.table;
    const std::uint32_t owner = table.slots[index].process;
    if (!table.is_live(owner)) return;
    ++table.header->counts.announced;
    push_upcall(table, owner, table.node_of_slot(index), Upcall::Kind::kAnnounced);
    change_slot(table, index, [&](SlotRecord&, SlotUse& use) {
        use.deadline.store(deadline, std::memory_order_relaxed);
        use.state.store(SlotState::kAnnounced, std::memory_order_release);
        fault_point(FaultPoint::kAnnounced);
    });
    ring(state, owner);
}

/// Revokes a slot: its owner must deregister at once.
void revoke(State& state, std::uint32_t index, Time deadline) REQUIRES(state.lock) {
    const Table& table = state.table;
    const std::uint32_t owner = table.slots[index].process;
    if (!table.is_live(owner)) return;
    ++table.header->counts.revoked;
    ++table.processes[owner].revoked;
    push_upcall(table, owner, table.node_of_slot(index), Upcall::Kind::kRevoke);
    change_slot(table, index, [&](SlotRecord&, SlotUse& use) {
        use.deadline.store(deadline, std::memory_order_relaxed);
        use.state.store(SlotState::kRevoked, std::memory_order_release);
        fault_point(FaultPoint::kRevoked);
    });
    ring(state, owner);
}

bool is_messaging(const Table& table, std::uint32_t slot) {
    return table.slots[slot].kind == Class::kMessaging;
}

/// Informs a process, for its flow control, how many messaging buffers it is left with.
/// @param taken how many it is about to lose.
void press(State& state, std::uint32_t process, std::uint64_t taken) REQUIRES(state.lock) {
    const Table& table = state.table;
    std::uint64_t has = 0;
    for (std::uint32_t i = 0; i < table.touched(); ++i)
        has += table.state(i) == SlotState::kActive && table.slots[i].process == process &&
               is_messaging(table, i);
    table.processes[process].window = less(has, taken);
    push_upcall(table, process, table.node_of_process(process), Upcall::Kind::kPressure);
    ring(state, process);
}

/// Owners of messaging buffers hear of the pressure before they lose one.
void take_back(State& state, const support::PageVector<std::uint32_t>& victims, Time time)
    REQUIRES(state.lock) {
    const Time deadline = time + state.table.grace;
    std::array<std::uint32_t, kProcesses> taken{};  // from each owner
    for (const std::uint32_t slot : victims)
        if (is_messaging(state.table, slot)) ++taken[state.table.slots[slot].process];
    for (std::uint32_t process = 0; process < state.table.rows(); ++process)
        if (taken[process] != 0) press(state, process, taken[process]);
    for (const std::uint32_t slot : victims)
        if (is_messaging(state.table, slot))
            revoke(state, slot, deadline);
        else
            announce(state, slot, deadline);
}

/// @return whether a queued ticket belongs in the queue. If not, the ticket or the queue has been
/// overwritten.
bool is_sound(const Table& table, const TicketRow& ticket) {
    return table.is_live(ticket.process) &&
           ticket.state.load(std::memory_order_relaxed) == TicketState::kWaiting;
}

support::PageVector<std::uint32_t> turns(State& state) REQUIRES(state.lock) {
    const Table& table = state.table;
    support::PageVector<std::uint32_t> waiting;
    for (std::uint32_t i = 0; i < table.rows(); ++i)
        if (table.is_live(i) && table.waiting(i).first() != kNone) waiting.push_back(i);
    std::sort(waiting.begin(), waiting.end(),
              [&](std::uint32_t a, std::uint32_t b) { return is_before(table, a, b); });
    return waiting;
}

/// Takes back for the waiting processes, in their order; what is about to be free counts for the
/// first of them. @return as reap().
Time reap_for_waiters(State& state, Time time) REQUIRES(state.lock) {
    const Table& table = state.table;
    Need wanted{0, 0};
    for (const std::uint32_t process : turns(state)) {
        const Sums& sums = table.processes[process].sums;
        wanted.entries += sums.waiting_entries;
        wanted.bytes += sums.waiting_bytes;
        const Need there = available(table);
        const Need need{std::min(less(wanted.entries, there.entries), sums.waiting_entries),
                        std::min(less(wanted.bytes, there.bytes), sums.waiting_bytes)};
        if (need.nothing()) continue;
        if (const Time until = await_statistics(state, time)) return until;
        take_back(state, choose(state, time, process, need.entries, need.bytes), time);
    }
    return kNever;
}

}  // namespace

void revoke_what_is_due(State& state, Time time) {
    const Table& table = state.table;
    support::PageVector<std::uint32_t> due;
    table.leaving().each([&](std::uint32_t index) {
        if (table.state(index) == SlotState::kAnnounced &&
            table.uses[index].deadline.load(std::memory_order_relaxed) <= time)
            due.push_back(index);
    });
    for (const std::uint32_t index : due)
        revoke(state, index, table.uses[index].deadline.load(std::memory_order_relaxed));
}

support::PageVector<Overdue> overdue(State& state, Time time) {
    const Table& table = state.table;
    support::PageVector<Overdue> found;
    if (!state.enforce.load(std::memory_order_relaxed)) return found;
    table.leaving().each([&](std::uint32_t index) {
        const SlotRecord& slot = table.slots[index];
        if (table.state(index) == SlotState::kAnnounced || !slot.named || slot.ended) return;
        if (table.uses[index].deadline.load(std::memory_order_relaxed) > time) return;
        // Our own registrations are left to our agent thread.
        if (slot.process == state.process || !table.is_live(slot.process)) return;
        found.push_back({{index, slot.generation}, table.processes[slot.process].pid, slot.key});
    });
    return found;
}

void serve(State& state) {
    refuse_what_is_impossible(state);
    bool repaired = false;
    for (std::uint32_t next; (next = next_in_order(state)) != kNone;) {
        const TicketRow& ticket = state.table.tickets[next];
        if (!is_sound(state.table, ticket)) {
            if (repaired) return;
            repair(state.table);
            repaired = true;
            continue;
        }
        if (auto why = objection(state, ticket.process, {ticket.kind, ticket.bytes})) {
            refuse(state, next, *why);
            continue;
        }
        if (!has_room(state.table, ticket.bytes)) return;
        grant(state, next);
        refuse_what_is_impossible(state);
    }
}

Time reap(State& state, Time time) {
    const Table& table = state.table;
    const Header& header = *table.header;
    if (header.sums.waiting_entries != 0) {
        const Time until = reap_for_waiters(state, time);
        if (until != kNever) return until;
    }
    const std::uint64_t limit = limit_of(table).entries;
    const std::uint64_t there = less(available(table).entries, header.sums.waiting_entries);
    // Entries in use above a lowered limit are taken back even if nobody waits.
    const std::uint64_t above = less(header.sums.entries, limit + header.sums.coming_entries);
    const std::uint64_t ahead = there < header.low ? header.high - there : 0;
    if (above + ahead == 0) return kNever;
    if (const Time until = await_statistics(state, time)) return until;
    take_back(state, choose(state, time, kNone, above + ahead, 0), time);
    return kNever;
}

}  // namespace dapl::memory
