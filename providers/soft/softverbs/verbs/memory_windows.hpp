// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory windows: separate keys for parts of memory regions, bound and unbound by requests in a
/// send queue. Type 1 is bound for all queue pairs of its protection domain; each bind gives it a
/// new key and ends the previous one. Type 2 ("2B") belongs to the queue pair through which it was
/// bound, under a key whose last 8 bits its owner chooses; before it can be bound again it has to
/// be invalidated, by its owner or by the queue pair's requester. Its addresses may be zero-based.
///
/// A binding is valid while its key is in the arena's table (MrEntry). No peer keeps a copy of what
/// a key permits, and the owner's copy (Adapter::own_key) makes no key valid, so a key ends for all
/// processes at once.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/arena/arena.hpp"

namespace softverbs {

class Adapter;
struct MemoryRegion;
struct ProtectionDomain;
class QueuePair;
struct Outcome;
struct SendWork;
struct Target;

class MemoryWindow : public ibv_mw {
  public:
    static MemoryWindow& of(ibv_mw* mw) { return *static_cast<MemoryWindow*>(mw); }
    /// @return nullptr with errno.
    static MemoryWindow* create(ProtectionDomain& pd, ibv_mw_type type);
    /// Unbinds the window and destroys it. @return 0; EBUSY while a requester is in the middle of a
    /// transfer that uses it: it is then unbound, and a later call destroys it; ENOENT when the
    /// program has changed its handle.
    static int destroy(MemoryWindow* window);

    Adapter& adapter() const;
    MrEntry& entry() const;
    std::uint32_t index() const { return index_; }
    /// @return the window's key with the last 8 bits of `wanted`. The other bits are fixed:
    /// adapters ignore what a program asks for there.
    std::uint32_t key_with_tag(std::uint32_t wanted) const { return base_ | (wanted & kTag); }
    bool has_key(std::uint32_t any) const { return (any & ~kTag) == base_; }

    // The members below are guarded by Adapter::window_lock.
    /// A thread is unbinding the window and waits until nobody uses the old key any more.
    bool is_changing = false;
    /// The key of the last bind; 0: none. The window is bound as long as the table has the same
    /// key.
    std::uint32_t key = 0;
    std::uint32_t qp_num = 0;  ///< type 2
    std::uint32_t qp_generation = 0;
    /// The key of a binding that has ended, until nobody uses it any more; 0: none.
    std::uint32_t retiring = 0;
    MemoryRegion* region = nullptr;  ///< the region in whose list the window is
    MemoryWindow* next = nullptr;
    MemoryWindow* previous = nullptr;

  private:
    /// Mask of the bits of a key that the window's owner chooses.
    static constexpr std::uint32_t kTag = 0xff;
    std::uint32_t index_ = 0;
    std::uint32_t base_ = 0;  ///< the bits that all its keys have in common
};

/// Carries out IBV_WR_BIND_MW and ibv_bind_mw, with the queue pair's send_lock held.
/// @return IBV_WC_SUCCESS or IBV_WC_MW_BIND_ERR; kLocked: a requester still uses the key of the
/// previous binding, and the request has to be tried again.
Outcome bind_window(QueuePair& qp, const SendWork& work);

/// Carries out IBV_WR_LOCAL_INV on a window of type 2 that is bound to this queue pair, with its
/// send_lock held.
/// @return IBV_WC_SUCCESS or IBV_WC_MW_BIND_ERR; kLocked as for a bind.
Outcome invalidate_window(QueuePair& qp, std::uint32_t key);

/// Ends a key in the target's table for IBV_WR_SEND_WITH_INV, while the caller's Transfer is
/// marked.
/// @return false when the key is not that of a window of type 2 bound to the target.
bool invalidate_at_target(const Target& target, std::uint32_t key);

/// Hides a region that is being deregistered from bind_window().
/// @return false, with nothing changed, while windows are bound to it.
bool withdraw_region(Adapter& adapter, MemoryRegion& region);

}  // namespace softverbs
