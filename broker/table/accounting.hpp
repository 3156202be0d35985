// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What slots and tickets add up to, and the lists in which they stand: all that is derived from
/// them is changed here and in repair.cpp, and nowhere else. Each function wants the table's lock.
#pragma once

#include <cstdint>

#include "broker/table/table.hpp"

namespace dapl::memory {

/// Takes a slot out of the sums and out of its list, and puts it back. In between its record and
/// its state may be changed.
void detach_slot(const Table& table, std::uint32_t slot);
void attach_slot(const Table& table, std::uint32_t slot);
template <class Change>
void change_slot(const Table& table, std::uint32_t slot, Change change) {
    detach_slot(table, slot);
    change(table.slots[slot], table.uses[slot]);
    attach_slot(table, slot);
}

/// The same for a ticket, which is put at the end of its owner's queue.
void detach_ticket(const Table& table, std::uint32_t ticket);
void attach_ticket(const Table& table, std::uint32_t ticket);

/// Makes a free slot a process's active one. There has to be room.
/// @param ticket that waits for it, or kNone.
SlotId take_slot(const Table& table, std::uint32_t process, const Wanted& wanted,
                 std::uint32_t ticket);
void free_slot(const Table& table, std::uint32_t slot);
/// Ends a ticket's life. Its number comes again with another generation.
void free_ticket(const Table& table, std::uint32_t ticket);

/// An upcall for its owner, behind those that are there; one that has not been fetched yet becomes
/// this one.
void push_upcall(const Table& table, std::uint32_t process, std::uint32_t node, Upcall::Kind kind);
void drop_upcall(const Table& table, std::uint32_t process, std::uint32_t node);

/// Whether such a registration may be made now.
bool has_room(const Table& table, std::uint64_t bytes);
/// Whether no room will come as long as what is pinned and refused stays so.
bool is_impossible(const Table& table, std::uint64_t bytes);

inline bool is_leaving(SlotState state) {
    return state == SlotState::kAnnounced || state == SlotState::kReleased ||
           state == SlotState::kRevoked;
}

}  // namespace dapl::memory
