// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A mapped table: where its parts are. Counts are this process's own, checked when it was mapped.
#pragma once

#include <cstdint>

#include "broker/table/table_layout.hpp"

namespace dapl::memory {

struct Table {
    Header* header = nullptr;
    ProcessRow* processes = nullptr;
    TicketRow* tickets = nullptr;
    SlotUse* uses = nullptr;
    SlotRecord* slots = nullptr;
    UpcallNode* upcalls = nullptr;
    std::uint32_t slot_count = 0;
    std::uint64_t capacity_entries = 0, capacity_bytes = 0;
    Time grace = 0;

    List<SlotRecord> free_slots() const { return {header->free_slots, slots, slot_count}; }
    List<SlotRecord> leaving() const { return {header->leaving, slots, slot_count}; }
    List<TicketRow> free_tickets() const { return {header->free_tickets, tickets, kTickets}; }
    List<TicketRow> waiting(std::uint32_t process) const {
        return {processes[process].waiting, tickets, kTickets};
    }
    List<UpcallNode> upcalls_of(std::uint32_t process) const {
        return {processes[process].upcalls, upcalls, node_count()};
    }

    std::uint32_t node_count() const { return slot_count + kTickets + kProcesses; }
    std::uint32_t node_of_slot(std::uint32_t slot) const { return slot; }
    std::uint32_t node_of_ticket(std::uint32_t ticket) const { return slot_count + ticket; }
    std::uint32_t node_of_process(std::uint32_t process) const {
        return slot_count + kTickets + process;
    }

    /// Slots that have ever been used.
    std::uint32_t touched() const {
        return header->touched < slot_count ? header->touched : slot_count;
    }
    /// Rows of processes that have ever been used.
    std::uint32_t rows() const { return header->rows < kProcesses ? header->rows : kProcesses; }
    SlotState state(std::uint32_t slot) const {
        return uses[slot].state.load(std::memory_order_relaxed);
    }
    bool is_live(std::uint32_t process) const {
        return process < kProcesses && processes[process].state == RowState::kLive;
    }
};

/// Where a thread sleeps that waits for a ticket's state to change.
inline std::atomic<std::uint32_t>& sleeping_place(TicketRow& ticket) {
    void* const place = &ticket.state;
    return *static_cast<std::atomic<std::uint32_t>*>(place);
}

/// The parts of a table in memory. @param base nullptr: only the size is asked for.
/// @return its size in bytes.
std::uint64_t lay_out(Table& table, void* base, std::uint32_t slot_count);
/// Slots of a table with so many entries.
std::uint32_t slots_for(std::uint64_t entries);
/// Tells releases whose structures differ apart.
std::uint32_t layout_number();

}  // namespace dapl::memory
