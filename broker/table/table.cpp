// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/table.hpp"

#include <algorithm>

namespace dapl::memory {
namespace {

/// Reserves `count` parts at `at`, rounded up to a cache line, and moves `at` past them.
template <class Part>
Part* place(void* base, std::uint64_t& at, std::uint64_t count) {
    at = (at + 63) / 64 * 64;
    Part* const part = base ? reinterpret_cast<Part*>(static_cast<char*>(base) + at) : nullptr;
    at += count * sizeof(Part);
    return part;
}

}  // namespace

std::uint64_t lay_out(Table& table, void* base, std::uint32_t slot_count) {
    std::uint64_t at = 0;
    table.slot_count = slot_count;
    table.header = place<Header>(base, at, 1);
    table.processes = place<ProcessRow>(base, at, kProcesses);
    table.tickets = place<TicketRow>(base, at, kTickets);
    table.uses = place<SlotUse>(base, at, slot_count);
    table.slots = place<SlotRecord>(base, at, slot_count);
    table.upcalls = place<UpcallNode>(base, at, table.node_count());
    return at;
}

std::uint32_t slots_for(std::uint64_t entries) {
    const auto capacity =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, kMostEntries));
    return capacity + std::min(capacity, kMostSlack);
}

std::uint32_t layout_number() {
    std::uint32_t number = 17;
    for (const std::size_t size :
         {sizeof(Header), sizeof(ProcessRow), sizeof(TicketRow), sizeof(SlotUse),
          sizeof(SlotRecord), sizeof(UpcallNode), std::size_t{kProcesses}, std::size_t{kTickets}})
        number = number * 31 + static_cast<std::uint32_t>(size);
    return number;
}

}  // namespace dapl::memory
