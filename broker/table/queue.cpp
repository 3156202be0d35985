// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The queue. The process whose last grant was longest ago is served first, and of its requests the
/// oldest. The next in order is never overtaken by another that would fit, so that large requests
/// are served too.
#include <vector>

#include "broker/table/fault_points.hpp"
#include "broker/table/share.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

void tell(State& state, std::uint32_t index, TicketState outcome, Upcall::Kind kind,
          FaultPoint point) REQUIRES(state.lock) {
    TicketRow& ticket = state.table.tickets[index];
    detach_ticket(state.table, index);
    if (!ticket.blocking)
        push_upcall(state.table, ticket.process, state.table.node_of_ticket(index), kind);
    ticket.state.store(outcome, std::memory_order_release);
    fault_point(point);
    if (ticket.blocking)
        state.lock.wake_later(sleeping_place(ticket));
    else
        ring(state, ticket.process);
}

}  // namespace

std::optional<Refusal> objection(State& state, std::uint32_t process, const Wanted& wanted) {
    if (is_impossible(state.table, wanted.bytes, !takes_back(state))) return Refusal::kImpossible;
    if (!admits(state, process, wanted.bytes)) return Refusal::kQuota;
    return std::nullopt;
}

tl::expected<Ticket, Refusal> add_ticket(State& state, const Wanted& wanted, bool blocking) {
    const Table& table = state.table;
    if (auto why = objection(state, state.process, wanted)) return tl::unexpected(*why);
    const std::uint32_t index = table.free_tickets().first();
    if (index == kNone || state.row().tickets >= kTicketsOfOne)
        return tl::unexpected(Refusal::kNoSlots);
    if (table.header->lease.called == 0) table.header->lease.called = now();
    detach_ticket(table, index);
    TicketRow& ticket = table.tickets[index];
    ticket.process = state.process;
    ticket.kind = wanted.kind;
    ticket.bytes = wanted.bytes;
    ticket.sequence = ++table.header->sequence;
    ticket.blocking = blocking;
    ticket.slot = {};
    if (ticket.generation == 0) ticket.generation = 1;
    ++state.row().tickets;
    ticket.state.store(TicketState::kWaiting, std::memory_order_release);
    fault_point(FaultPoint::kTicketWaits);
    attach_ticket(table, index);
    fault_point(FaultPoint::kTicketQueued);
    ring_leader(state);
    return Ticket{index, ticket.generation};
}

std::optional<tl::expected<SlotId, Refusal>> outcome(State& state, const Ticket& ticket,
                                                     bool withdraw) {
    using Outcome = tl::expected<SlotId, Refusal>;
    const Table& table = state.table;
    if (ticket.index >= kTickets) return Outcome(tl::unexpected(Refusal::kBroken));
    TicketRow& row = table.tickets[ticket.index];
    if (row.generation != ticket.generation || row.process != state.process)
        return Outcome(tl::unexpected(Refusal::kBroken));
    Outcome result = tl::unexpected(Refusal::kTimedOut);
    switch (row.state.load(std::memory_order_relaxed)) {
        case TicketState::kGranted:
            if (row.slot.index >= table.slot_count)
                return Outcome(tl::unexpected(Refusal::kBroken));
            table.slots[row.slot.index].ticket = kNone;
            result = row.slot;
            break;
        case TicketState::kRefused:
            result = tl::unexpected(row.why);
            break;
        case TicketState::kWaiting:
            if (!withdraw) return std::nullopt;
            ring_leader(state);  // the next one may fit now
            break;
        default:
            return Outcome(tl::unexpected(Refusal::kBroken));
    }
    free_ticket(table, ticket.index);
    return result;
}

bool is_before(const Table& table, std::uint32_t a, std::uint32_t b) {
    const std::uint64_t served_a = table.processes[a].served;
    const std::uint64_t served_b = table.processes[b].served;
    if (served_a != served_b) return served_a < served_b;
    return table.tickets[table.waiting(a).first()].sequence <
           table.tickets[table.waiting(b).first()].sequence;
}

std::uint32_t next_in_order(State& state) {
    const Table& table = state.table;
    std::uint32_t first = kNone;
    for (std::uint32_t i = 0; i < table.rows(); ++i) {
        if (!table.is_live(i) || table.waiting(i).first() == kNone) continue;
        if (first == kNone || is_before(table, i, first)) first = i;
    }
    return first == kNone ? kNone : table.waiting(first).first();
}

void grant(State& state, std::uint32_t index) {
    TicketRow& ticket = state.table.tickets[index];
    ProcessRow& row = state.table.processes[ticket.process];
    ticket.slot = take_slot(state.table, ticket.process, Wanted{ticket.kind, ticket.bytes}, index);
    row.served = ++state.table.header->sequence;
    ++row.granted;
    ++state.table.header->counts.granted;
    tell(state, index, TicketState::kGranted, Upcall::Kind::kGranted, FaultPoint::kTicketGranted);
}

void refuse(State& state, std::uint32_t index, Refusal why) {
    TicketRow& ticket = state.table.tickets[index];
    ticket.why = why;
    ++state.table.processes[ticket.process].refused;
    ++state.table.header->counts.refused;
    tell(state, index, TicketState::kRefused, Upcall::Kind::kRefused, FaultPoint::kTicketRefused);
}

void refuse_what_is_impossible(State& state) {
    const Table& table = state.table;
    Header& header = *table.header;
    const std::uint64_t entries = header.sums.pinned_entries + header.sums.refused_entries;
    const std::uint64_t bytes = header.sums.pinned_bytes + header.sums.refused_bytes;
    if (entries == header.told_entries && bytes == header.told_bytes) return;
    const bool all_is_kept = !takes_back(state);
    std::vector<std::uint32_t> hopeless;
    for (std::uint32_t i = 0; i < table.rows(); ++i) {
        if (!table.is_live(i)) continue;
        table.waiting(i).each([&](std::uint32_t ticket) {
            if (is_impossible(table, table.tickets[ticket].bytes, all_is_kept))
                hopeless.push_back(ticket);
        });
    }
    for (const std::uint32_t ticket : hopeless)
        if (table.is_live(table.tickets[ticket].process))
            refuse(state, ticket, Refusal::kImpossible);
    header.told_entries = entries;
    header.told_bytes = bytes;
}

}  // namespace dapl::memory
