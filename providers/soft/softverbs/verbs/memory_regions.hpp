// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory regions and memory keys: what they permit, checked by whoever is about to touch the
/// memory.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/shared_pages.hpp"
#include "providers/soft/softverbs/verbs/shared_part.hpp"

namespace softverbs {

class MemoryWindow;

struct ProtectionDomain;

/// What a program asks of a region.
struct Registration {
    ProtectionDomain* pd = nullptr;
    void* address = nullptr;
    std::size_t length = 0;
    std::uint64_t iova = 0;  ///< what addresses in requests are relative to
    unsigned access = 0;
};

struct MemoryRegion : ibv_mr {
    static MemoryRegion& of(ibv_mr* mr) { return *static_cast<MemoryRegion*>(mr); }
    std::uint32_t index = 0;
    Registration request;
    Placement placement;
    bool is_withdrawn =
        false;  ///< its key is gone, and a requester has been waited for without success
    MemoryWindow* windows = nullptr;  ///< first of those bound to it; Adapter::window_lock
};

/// Where a checked range lies in the address space of the memory's owner.
struct CheckedRange {
    bool permitted = false;
    std::uint64_t address = 0;
    SharedPart shared{};  ///< of the region, whatever part of the range that is
};

/// The queue pair of the memory's owner by way of which a requester comes.
struct Access {
    std::uint32_t pd;
    std::uint32_t rights;  ///< IBV_ACCESS_* bits, all of which are needed
    std::uint32_t qp_num;
    std::uint32_t qp_generation;
};

/// Of an entry whose key has been seen.
inline CheckedRange check_range(const MrEntry& entry, std::uint32_t key, std::uint32_t pd,
                                std::uint32_t access, std::uint64_t address, std::uint64_t length) {
    const std::uint64_t region_length = entry.length;
    const std::uint64_t offset = address - entry.iova;
    const bool inside = offset <= region_length && length <= region_length - offset;
    if (!inside || entry.pd != pd || (entry.access & access) != access) return {};
    return {true, entry.address + offset, SharedPart::of(entry, key)};
}

/// Checks `length` bytes at `address` (as the application gave it) under the key of a region in the
/// table of an arena: key and its generation, protection domain, access, range. For a peer's arena,
/// valid while the caller has marked a Transfer.
/// @param access IBV_ACCESS_* bits, all of which are needed; 0 for reading our own memory.
inline CheckedRange check_entry(const MrEntry& entry, std::uint32_t key, std::uint32_t pd,
                                std::uint32_t access, std::uint64_t address, std::uint64_t length) {
    if (key == 0 || entry.key.load(std::memory_order_seq_cst) != key) return {};
    if (entry.kind != KeyKind::kRegion) return {};
    return check_range(entry, key, pd, access, address, length);
}

inline CheckedRange check_key(ArenaView arena, std::uint32_t key, std::uint32_t pd,
                              std::uint32_t access, std::uint64_t address, std::uint64_t length) {
    return check_entry(arena.mr(key), key, pd, access, address, length);
}

/// The same for the key of a region or of a window.
inline CheckedRange check_remote_entry(const MrEntry& entry, std::uint32_t key,
                                       const Access& access, std::uint64_t address,
                                       std::uint64_t length) {
    if (key == 0 || entry.key.load(std::memory_order_seq_cst) != key) return {};
    if (entry.kind == KeyKind::kQueuePairsWindow &&
        (entry.qp_num != access.qp_num || entry.qp_generation != access.qp_generation)) {
        return {};
    }
    return check_range(entry, key, access.pd, access.rights, address, length);
}

inline CheckedRange check_remote_key(ArenaView arena, std::uint32_t key, const Access& access,
                                     std::uint64_t address, std::uint64_t length) {
    return check_remote_entry(arena.mr(key), key, access, address, length);
}

/// The same two for keys of our own, by what we know of them (Adapter::own_key), unless somebody
/// has ended them.
inline CheckedRange check_own_key(const Adapter& adapter, std::uint32_t key, std::uint32_t pd,
                                  std::uint32_t access, std::uint64_t address,
                                  std::uint64_t length) {
    const MrEntry& entry = adapter.own_key(key);
    if (key == 0 || entry.key.load(std::memory_order_seq_cst) != key) return {};
    if (entry.kind != KeyKind::kRegion || !adapter.stands(key)) return {};
    return check_range(entry, key, pd, access, address, length);
}
inline CheckedRange check_own_remote_key(const Adapter& adapter, std::uint32_t key,
                                         const Access& access, std::uint64_t address,
                                         std::uint64_t length) {
    if (adapter.view().mr(key).key.load(std::memory_order_seq_cst) != key) return {};
    CheckedRange range = check_remote_entry(adapter.own_key(key), key, access, address, length);
    range.shared = SharedPart::of(adapter.view().mr(key), key);
    return range;
}

/// A key of the entry's has just ended, by this process.
void note_end(MrEntry& entry);

/// Copies what a key permits, but for the key itself.
void copy_terms(MrEntry& to, const MrEntry& from);

}  // namespace softverbs
