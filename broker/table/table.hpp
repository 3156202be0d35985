// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A mapped table: pointers to its parts. The counts are this process's own copies, checked when
/// the table was mapped.
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

    /// @return how many slots have ever been used.
    std::uint32_t touched() const {
        return header->touched < slot_count ? header->touched : slot_count;
    }
    /// @return how many rows of processes have ever been used.
    std::uint32_t rows() const { return header->rows < kProcesses ? header->rows : kProcesses; }
    SlotState state(std::uint32_t slot) const {
        return uses[slot].state.load(std::memory_order_relaxed);
    }
    bool is_live(std::uint32_t process) const {
        return process < kProcesses && processes[process].state == RowState::kLive;
    }
};

/// @return the word that a thread sleeps on while it waits for a change of a ticket's state.
inline std::atomic<std::uint32_t>& sleeping_place(TicketRow& ticket) {
    void* const place = &ticket.state;
    return *static_cast<std::atomic<std::uint32_t>*>(place);
}

/// Sets the pointers to the parts of a table. @param base of the mapping; nullptr: computes the
/// size only. @return the size in bytes.
std::uint64_t lay_out(Table& table, void* base, std::uint32_t slot_count);
/// @return the number of slots of a table with this capacity.
std::uint32_t slots_for(std::uint64_t entries);
/// @return a number that distinguishes releases whose structures differ in size.
std::uint32_t layout_number();

}  // namespace dapl::memory
