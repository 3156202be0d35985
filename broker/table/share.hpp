// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Bounds what a process may keep from others, whatever they need: it may keep pinned, refused and
/// posted entries up to its share of the capacity. Those beyond it are taken back as any other.
/// Each function requires the table's lock.
#pragma once

#include <cstdint>

#include "broker/table/accounting.hpp"
#include "broker/table/table.hpp"
#include "support/base/page_allocator.hpp"

namespace dapl::memory {

/// @return what a process is due, and may keep: at least one entry, however many processes there
/// are.
Amount share_of(const Table& table, std::uint32_t process);

/// @return whether a slot is active, its owner alive, and known to it.
bool stands(const Table& table, std::uint32_t slot);

/// @return whether a slot is one that its owner keeps.
bool is_kept(const Table& table, std::uint32_t slot);

/// Slots that processes keep beyond their shares, of each those that were used longest ago.
struct BeyondShares {
    support::PageVector<std::uint32_t> slots;
    support::PageVector<std::uint32_t> last;  ///< of Class::kPeers: the last choice
};
BeyondShares kept_beyond_shares(const Table& table);

/// @return whether the process may keep one more slot, of this size.
bool may_keep(const Table& table, std::uint32_t process, std::uint64_t bytes);

/// @param all_is_kept whether nothing is ever taken back, also beyond the shares. @return whether a
/// registration of this size cannot be made as long as processes keep what they do.
bool is_impossible(const Table& table, std::uint64_t bytes, bool all_is_kept);

}  // namespace dapl::memory
