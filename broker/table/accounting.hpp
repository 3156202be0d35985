// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sums over slots and tickets, and the lists that these are in. Both are derived, and changed
/// only here and in repair.cpp. Each function requires the table's lock.
#pragma once

#include <cstdint>

#include "broker/table/table.hpp"

namespace dapl::memory {

/// detach_slot() removes a slot from the sums and from its list, attach_slot() adds it again. Its
/// record and its state may be changed in between.
void detach_slot(const Table& table, std::uint32_t slot);
void attach_slot(const Table& table, std::uint32_t slot);
template <class Change>
void change_slot(const Table& table, std::uint32_t slot, Change change) {
    detach_slot(table, slot);
    change(table.slots[slot], table.uses[slot]);
    attach_slot(table, slot);
}

/// Do the same for a ticket; attach_ticket() appends it to its owner's queue.
void detach_ticket(const Table& table, std::uint32_t ticket);
void attach_ticket(const Table& table, std::uint32_t ticket);

/// Makes a free slot an active slot of a process. has_room() must hold.
/// @param ticket that it is granted to, or kNone.
SlotId take_slot(const Table& table, std::uint32_t process, const Wanted& wanted,
                 std::uint32_t ticket);
void free_slot(const Table& table, std::uint32_t slot);
/// Frees a ticket. Its index is used again, with another generation.
void free_ticket(const Table& table, std::uint32_t ticket);

/// Appends an upcall to the list of a process. An upcall of the node that has not been fetched yet
/// is replaced and keeps its place.
void push_upcall(const Table& table, std::uint32_t process, std::uint32_t node, Upcall::Kind kind);
void drop_upcall(const Table& table, std::uint32_t process, std::uint32_t node);

struct Amount {
    std::uint64_t entries = 0, bytes = 0;
};
/// @return how much of the capacity this user may use; ~0 bytes: no limit.
Amount limit_of(const Table& table);
/// @return whether a registration of this size may be made now.
bool has_room(const Table& table, std::uint64_t bytes);

inline bool is_leaving(SlotState state) {
    return state == SlotState::kAnnounced || state == SlotState::kReleased ||
           state == SlotState::kRevoked;
}

}  // namespace dapl::memory
