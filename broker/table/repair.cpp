// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/repair.hpp"

#include <algorithm>

#include "broker/table/accounting.hpp"
#include "broker/table/futex.hpp"
#include "support/base/page_allocator.hpp"

namespace dapl::memory {
namespace {

void forget_what_is_derived(const Table& table) {
    Header& header = *table.header;
    header.free_slots = header.leaving = header.free_tickets = kEmpty;
    header.sums = {};
    header.shares = 0;
    header.lease.has_reported = header.lease.is_followed = 0;  // everybody is woken below
    header.refusals_end = 0;  // the next end_refusals() computes it
    header.told_entries = header.told_bytes = kUntold;
    header.touched = table.touched();
    for (std::uint32_t i = 0; i < kProcesses; ++i) {
        ProcessRow& row = table.processes[i];
        row.sums = {};
        row.waiting = row.upcalls = kEmpty;
        row.tickets = 0;
        if (row.state == RowState::kLive) header.shares += row.share;
    }
}

/// Completes a grant: if a slot was taken for a ticket that still waits, the ticket has got it.
void finish_grant(const Table& table, std::uint32_t index) {
    SlotRecord& slot = table.slots[index];
    if (slot.ticket >= kTickets) return;
    TicketRow& ticket = table.tickets[slot.ticket];
    if (ticket.process != slot.process) return;
    if (ticket.state.load(std::memory_order_relaxed) != TicketState::kWaiting) return;
    ticket.slot = {index, slot.generation};
    ticket.state.store(TicketState::kGranted, std::memory_order_release);
}

void derive_from_slots(const Table& table) {
    for (std::uint32_t i = 0; i < table.touched(); ++i) {
        if (table.state(i) != SlotState::kFree) {
            if (!table.is_live(table.slots[i].process))
                table.uses[i].state.store(SlotState::kFree, std::memory_order_release);
            else
                finish_grant(table, i);
        }
        attach_slot(table, i);
    }
}

void derive_from_tickets(const Table& table) {
    support::PageVector<std::uint32_t> waiting;
    for (std::uint32_t i = 0; i < kTickets; ++i) {
        TicketRow& ticket = table.tickets[i];
        if (!table.is_live(ticket.process))
            ticket.state.store(TicketState::kFree, std::memory_order_release);
        const TicketState state = ticket.state.load(std::memory_order_relaxed);
        if (state != TicketState::kFree) ++table.processes[ticket.process].tickets;
        if (state == TicketState::kWaiting)
            waiting.push_back(i);
        else
            attach_ticket(table, i);
    }
    std::sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
        return table.tickets[a].sequence < table.tickets[b].sequence;
    });
    for (const std::uint32_t ticket : waiting) attach_ticket(table, ticket);
}

/// @return the pending word of a slot's upcall if it still fits the state of the slot, else 0.
std::uint32_t pending_of_slot(const Table& table, std::uint32_t slot) {
    const std::uint32_t pending = table.upcalls[table.node_of_slot(slot)].pending;
    const auto is = [&](Upcall::Kind kind) {
        return pending == 1 + static_cast<std::uint32_t>(kind);
    };
    const SlotState state = table.state(slot);
    const bool fits = (is(Upcall::Kind::kAnnounced) && state == SlotState::kAnnounced) ||
                      (is(Upcall::Kind::kRevoke) && state == SlotState::kRevoked);
    return fits ? pending : 0;
}

std::uint32_t pending_of_ticket(const Table& table, std::uint32_t index) {
    const TicketRow& ticket = table.tickets[index];
    const TicketState state = ticket.state.load(std::memory_order_relaxed);
    if (ticket.blocking) return 0;
    if (state == TicketState::kGranted)
        return 1 + static_cast<std::uint32_t>(Upcall::Kind::kGranted);
    if (state == TicketState::kRefused)
        return 1 + static_cast<std::uint32_t>(Upcall::Kind::kRefused);
    return 0;
}

void derive_upcalls(const Table& table) {
    struct Found {
        std::uint32_t process, node;
    };
    support::PageVector<Found> found;
    const auto look = [&](std::uint32_t process, std::uint32_t index, std::uint32_t pending) {
        UpcallNode& node = table.upcalls[index];
        if (pending != 0 && node.pending == 0) node.sequence = ++table.header->sequence;
        node.pending = pending;
        if (pending != 0) found.push_back({process, index});
    };
    for (std::uint32_t i = 0; i < table.touched(); ++i)
        look(table.slots[i].process, table.node_of_slot(i), pending_of_slot(table, i));
    for (std::uint32_t i = 0; i < kTickets; ++i)
        look(table.tickets[i].process, table.node_of_ticket(i), pending_of_ticket(table, i));
    for (std::uint32_t i = 0; i < kProcesses; ++i) {
        const std::uint32_t node = table.node_of_process(i);
        look(i, node, table.is_live(i) ? table.upcalls[node].pending : 0);
    }
    std::sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
        return table.upcalls[a.node].sequence < table.upcalls[b.node].sequence;
    });
    for (const Found& one : found) table.upcalls_of(one.process).push_back(one.node);
}

/// Rings all processes, since the dead one may not have rung some that it should have.
void wake_everybody(const Table& table) {
    for (std::uint32_t i = 0; i < kProcesses; ++i)
        if (table.is_live(i)) ring_at_once(table.processes[i].doorbell);
}

}  // namespace

void repair(const Table& table) {
    forget_what_is_derived(table);
    derive_from_slots(table);
    derive_from_tickets(table);
    derive_upcalls(table);
    wake_everybody(table);
}

}  // namespace dapl::memory
