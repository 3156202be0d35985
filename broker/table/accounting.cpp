// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/accounting.hpp"

#include <algorithm>

#include "broker/table/fault_points.hpp"
#include "broker/table/futex.hpp"
#include "broker/table/repair.hpp"

namespace dapl::memory {
namespace {

/// @param sign 1 or -1, in unsigned arithmetic.
void add(Sums& sums, const SlotRecord& slot, SlotState state, std::uint64_t sign) {
    const std::uint64_t bytes = sign * slot.length;
    sums.entries += sign;
    sums.bytes += bytes;
    if (is_pinned(slot.kind) || slot.refused_until == kNever) {
        sums.pinned_entries += sign;
        sums.pinned_bytes += bytes;
    } else if (slot.refused_until != 0) {
        sums.refused_entries += sign;
        sums.refused_bytes += bytes;
    }
    if (is_leaving(state)) {
        sums.coming_entries += sign;
        sums.coming_bytes += bytes;
    }
    if (slot.counted) sums.counted_entries += sign;
}

/// Rings the holder of the lease if what it has told dat_regd is no longer so.
void note_change(const Table& table) {
    Lease& lease = table.header->lease;
    if (lease.has_reported == 0) [[likely]]
        return;
    lease.has_reported = 0;
    if (table.is_live(lease.process)) ring_at_once(table.processes[lease.process].doorbell);
}

void add_slot(const Table& table, std::uint32_t index, std::uint64_t sign) {
    const SlotRecord& slot = table.slots[index];
    const SlotState state = table.state(index);
    if (state == SlotState::kFree || slot.ended) return;
    note_change(table);
    add(table.header->sums, slot, state, sign);
    if (slot.process < kProcesses) add(table.processes[slot.process].sums, slot, state, sign);
}

void add_ticket(const Table& table, std::uint32_t index, std::uint64_t sign) {
    const TicketRow& ticket = table.tickets[index];
    if (ticket.process >= kProcesses) return;
    note_change(table);
    for (Sums* sums : {&table.header->sums, &table.processes[ticket.process].sums}) {
        sums->waiting_entries += sign;
        sums->waiting_bytes += sign * ticket.bytes;
    }
}

std::uint32_t next_generation(std::uint32_t generation) {
    return generation + 1 == 0 ? 1 : generation + 1;
}

/// @return a free slot; kNone if none is left. Repairs the table if the list and the slot disagree:
/// then one of them has been overwritten.
std::uint32_t left_slot(const Table& table) {
    const std::uint32_t first = table.free_slots().first();
    if (first != kNone && (first >= table.touched() || table.state(first) != SlotState::kFree)) {
        repair(table);
        return table.free_slots().first();
    }
    if (first != kNone) return first;
    return table.touched() < table.slot_count ? table.touched() : kNone;
}

}  // namespace

void detach_slot(const Table& table, std::uint32_t slot) {
    const SlotState state = table.state(slot);
    add_slot(table, slot, ~std::uint64_t{0});
    if (state == SlotState::kFree) table.free_slots().remove(slot);
    if (is_leaving(state)) table.leaving().remove(slot);
}

void attach_slot(const Table& table, std::uint32_t slot) {
    const SlotState state = table.state(slot);
    add_slot(table, slot, 1);
    if (state == SlotState::kFree) table.free_slots().push_back(slot);
    if (is_leaving(state)) table.leaving().push_back(slot);
}

void detach_ticket(const Table& table, std::uint32_t index) {
    switch (table.tickets[index].state.load(std::memory_order_relaxed)) {
        case TicketState::kFree:
            return table.free_tickets().remove(index);
        case TicketState::kWaiting:
            if (table.tickets[index].process >= kProcesses) return;
            add_ticket(table, index, ~std::uint64_t{0});
            return table.waiting(table.tickets[index].process).remove(index);
        default:
            return;
    }
}

void attach_ticket(const Table& table, std::uint32_t index) {
    switch (table.tickets[index].state.load(std::memory_order_relaxed)) {
        case TicketState::kFree:
            return table.free_tickets().push_back(index);
        case TicketState::kWaiting:
            if (table.tickets[index].process >= kProcesses) return;
            add_ticket(table, index, 1);
            return table.waiting(table.tickets[index].process).push_back(index);
        default:
            return;
    }
}

SlotId take_slot(const Table& table, std::uint32_t process, const Wanted& wanted,
                 std::uint32_t ticket) {
    const std::uint32_t index = left_slot(table);
    if (index == kNone) return {};
    if (index < table.touched())
        table.free_slots().remove(index);
    else
        table.header->touched = index + 1;
    SlotRecord& slot = table.slots[index];
    slot = {.links = {kNone, kNone},
            .generation = next_generation(slot.generation),
            .process = process,
            .kind = wanted.kind,
            .key = 0,
            .named = 0,
            .counted = 0,
            .ended = 0,
            .reference = 0,
            .ticket = ticket,
            .length = wanted.bytes,
            .made = now(),
            .refused_until = 0,
            .refused_once = 0};
    SlotUse& use = table.uses[index];
    use.last_use.store(0, std::memory_order_relaxed);
    use.use_count.store(0, std::memory_order_relaxed);
    use.busy.store(0, std::memory_order_relaxed);
    use.deadline.store(kNever, std::memory_order_relaxed);
    fault_point(FaultPoint::kSlotWritten);
    use.state.store(SlotState::kActive, std::memory_order_release);
    fault_point(ticket == kNone ? FaultPoint::kSlotTaken : FaultPoint::kGrantedSlot);
    attach_slot(table, index);
    return {index, slot.generation};
}

void free_slot(const Table& table, std::uint32_t slot) {
    const std::uint32_t process = table.slots[slot].process;
    if (process < kProcesses) drop_upcall(table, process, table.node_of_slot(slot));
    detach_slot(table, slot);
    table.uses[slot].state.store(SlotState::kFree, std::memory_order_release);
    fault_point(FaultPoint::kFreed);
    attach_slot(table, slot);
}

void free_ticket(const Table& table, std::uint32_t index) {
    TicketRow& ticket = table.tickets[index];
    detach_ticket(table, index);
    if (ticket.process < kProcesses) {
        drop_upcall(table, ticket.process, table.node_of_ticket(index));
        --table.processes[ticket.process].tickets;
    }
    ticket.generation = next_generation(ticket.generation);
    ticket.state.store(TicketState::kFree, std::memory_order_release);
    attach_ticket(table, index);
}

void push_upcall(const Table& table, std::uint32_t process, std::uint32_t index,
                 Upcall::Kind kind) {
    UpcallNode& node = table.upcalls[index];
    const bool stands = node.pending != 0;
    if (!stands) node.sequence = ++table.header->sequence;
    node.pending = 1 + static_cast<std::uint32_t>(kind);
    if (!stands) table.upcalls_of(process).push_back(index);
    fault_point(FaultPoint::kUpcallPushed);
}

void drop_upcall(const Table& table, std::uint32_t process, std::uint32_t index) {
    UpcallNode& node = table.upcalls[index];
    if (node.pending == 0) return;
    table.upcalls_of(process).remove(index);
    node.pending = 0;
}

Amount limit_of(const Table& table) {
    const Header& header = *table.header;
    const std::uint64_t bytes = table.capacity_bytes == 0
                                    ? header.limit_bytes
                                    : std::min(header.limit_bytes, table.capacity_bytes);
    return {std::min(header.limit_entries, table.capacity_entries), bytes};
}

bool has_room(const Table& table, std::uint64_t bytes) {
    const Header& header = *table.header;
    const Amount limit = limit_of(table);
    if (header.sums.entries >= limit.entries) return false;
    if (left_slot(table) == kNone) return false;
    return bytes <= limit.bytes && header.sums.bytes <= limit.bytes - bytes;
}

}  // namespace dapl::memory
