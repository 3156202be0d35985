// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory regions and memory keys, and the checks of what a key permits, made by whoever is about
/// to access the memory.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "providers/soft/softverbs/arena/shared_part.hpp"
#include "providers/soft/softverbs/memory/shared_pages.hpp"
#include "providers/soft/softverbs/verbs/absent_regions.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"

namespace softverbs {

class MemoryWindow;

struct ProtectionDomain;

/// The parameters of a registration.
struct Registration {
    ProtectionDomain* pd = nullptr;
    void* address = nullptr;
    std::size_t length = 0;
    std::uint64_t iova = 0;  ///< address of the first byte in requests
    unsigned access = 0;
    /// Keeps memory there that is not the program's own; the region holds it.
    std::shared_ptr<void> backing = nullptr;

    /// Whether pages come and go while the region stands (IBV_ACCESS_ON_DEMAND).
    bool is_on_demand() const { return (access & IBV_ACCESS_ON_DEMAND) != 0; }
    /// Whether it is the whole address space, with what the program maps there later.
    bool is_implicit() const { return is_on_demand() && !address && length == SIZE_MAX; }
};

/// Registers memory. @return nullptr with errno. Throws std::bad_alloc.
ibv_mr* register_memory(const Registration& request);

struct MemoryRegion : ibv_mr {
    static MemoryRegion& of(ibv_mr* mr) { return *static_cast<MemoryRegion*>(mr); }
    std::uint32_t index = 0;
    Registration request;
    Placement placement;
    /// The key is invalid, but the wait for its users has not succeeded yet.
    bool is_withdrawn = false;
    bool counts_uses = false;             ///< MrEntry::counts_uses
    bool is_away = false;                 ///< suspend() has succeeded, and resume() has not
    RegionWanted wanted{};                ///< of suspend()
    MemoryRegion* next_absent = nullptr;  ///< guarded by AbsentRegions
    MemoryWindow* windows = nullptr;  ///< first window bound to it; guarded by Adapter::window_lock
};

/// The place of a checked range in the address space of the memory's owner.
struct CheckedRange {
    bool permitted = false;
    std::uint64_t address = 0;
    SharedPart shared{};  ///< of the region, whether or not the range is in it
};

/// The rights that a remote access needs, and the queue pair of the memory's owner through which it
/// comes.
struct Access {
    std::uint32_t pd;
    std::uint32_t rights;  ///< IBV_ACCESS_* bits, all of which are needed
    std::uint32_t qp_num;
    std::uint32_t qp_generation;
};

/// Checks a range in an entry whose key has been seen.
inline CheckedRange check_range(const MrEntry& entry, std::uint32_t key, std::uint32_t pd,
                                std::uint32_t access, std::uint64_t address, std::uint64_t length) {
    const std::uint64_t region_length = entry.length;
    const std::uint64_t offset = address - entry.iova;
    const bool inside = offset <= region_length && length <= region_length - offset;
    if (!inside || entry.pd != pd || (entry.access & access) != access) return {};
    return {true, entry.address + offset, SharedPart::of(entry, key)};
}

/// Checks `length` bytes at `address` (as the application gave it) under the key of a region in the
/// table of an arena: key and its generation, protection domain, access, range. For a peer's arena
/// the result is valid while the caller's Transfer is marked.
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

/// Like check_entry(), for the key of a region or of a window.
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

/// @return what becomes of a receive that names a key which check_key() does not permit. If another
/// process has ended the registration (MrEntry::ended), its owner could not know when it posted the
/// receive, which is therefore skipped, flushed; all others fail.
inline ibv_wc_status refusal_of(ArenaView arena, std::uint32_t key) {
    const bool was_ended = key != 0 && arena.mr(key).ended.load(std::memory_order_seq_cst) == key;
    return was_ended ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_PROT_ERR;
}

/// Like check_key() and check_remote_key(), for keys of our own: by the private copy of the entry
/// (Adapter::own_key), unless another process has ended the key.
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

/// Has requesters count their accesses from now on.
const verbs::RegionUses& begin_counting(MemoryRegion& mr);

/// Takes a region away: its key becomes invalid, its users are waited for and its pages released,
/// but a peer that uses the key waits until resume() or the region's end. @param wanted called on
/// the service thread once a peer waits.
/// @return 0; EBUSY, with the region as it was, if windows are bound to it or somebody is in the
/// middle of a transfer; EINVAL if it is away or has ended.
int suspend(MemoryRegion& mr, const RegionWanted& wanted);
/// Makes the region valid again under the same key. @return 0; EINVAL if it is not away; EFAULT if
/// the program has unmapped the memory. Throws std::bad_alloc.
int resume(MemoryRegion& mr);

/// Whether the region that has this key is away.
inline bool is_away(const MrEntry& entry, std::uint32_t key) {
    return key != 0 && entry.last_key.load(std::memory_order_relaxed) == key &&
           entry.absence.load(std::memory_order_seq_cst) != Absence::kNone;
}
/// Notes that somebody waits for a region that is away. @return false if it is not any more.
inline bool mark_as_wanted(MrEntry& entry) {
    Absence absence = Absence::kAway;
    entry.absence.compare_exchange_strong(absence, Absence::kWanted, std::memory_order_seq_cst);
    return absence != Absence::kNone;
}

/// Records that this process has just ended the entry's key.
void note_end(MrEntry& entry);

/// Copies what a key permits, without the key itself and the placement of the pages.
void copy_terms(MrEntry& to, const MrEntry& from);

}  // namespace softverbs
