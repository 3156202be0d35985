// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory keys: what they permit, checked by whoever is about to touch the memory.
#pragma once

#include <cstdint>

#include "providers/soft/verbs/arena.hpp"

namespace softverbs {

/// Where a checked range lies in the address space of the memory's owner.
struct CheckedRange {
    bool permitted = false;
    std::uint64_t address = 0;
};

/// Checks `length` bytes at `address` (as the application gave it) under `key` in the table of an
/// arena: key and its generation, protection domain, access, range. For a peer's arena, valid as
/// long as the caller is marked busy at the queue pair (QpEntry::busy).
/// @param access IBV_ACCESS_* bits, all of which are needed; 0 for reading our own memory.
CheckedRange check_key(ArenaView arena, std::uint32_t key, std::uint32_t pd, std::uint32_t access,
                       std::uint64_t address, std::uint64_t length);

}  // namespace softverbs
