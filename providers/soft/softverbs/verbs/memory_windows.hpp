// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory windows: keys of their own for parts of memory regions, bound and unbound by requests in
/// a send queue. Type 1 is bound for all queue pairs of its protection domain; each bind gives it a
/// new key and ends the one before. Type 2 ("2B") belongs to the queue pair through which it was
/// bound, under a key whose last 8 bits its owner chooses; before it can be bound again it has to
/// be invalidated, by its owner or by the queue pair's requester. Its addresses may begin at 0.
///
/// The binding is in the arena's table (MrEntry), and nowhere else: nobody keeps a copy of what a
/// key permits, so that a key ends for all processes at once.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/verbs/arena.hpp"

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
    /// Unbinds it first. @return 0, or EBUSY while a requester is in the middle of a transfer that
    /// uses it: it is unbound, and a later call destroys it.
    static int destroy(MemoryWindow* window);

    Adapter& adapter() const;
    MrEntry& entry() const;
    std::uint32_t index() const { return index_; }
    /// The window's key with these last 8 bits. The others are its own: adapters ignore what a
    /// program asks for there.
    std::uint32_t key_with_tag(std::uint32_t wanted) const { return base_ | (wanted & kTag); }
    bool has_key(std::uint32_t any) const { return (any & ~kTag) == base_; }

    // Below: Adapter::window_lock.
    /// Somebody is unbinding it and waits until nobody uses the old key any more.
    bool is_changing = false;
    /// Under which it was bound last; 0: never. Bound it is as long as the table says the same.
    std::uint32_t key = 0;
    std::uint32_t qp_num = 0;  ///< type 2
    std::uint32_t qp_generation = 0;
    /// The key of a binding that has ended, until nobody uses it any more; 0: none.
    std::uint32_t retiring = 0;
    MemoryRegion* region = nullptr;  ///< in whose list it is
    MemoryWindow* next = nullptr;
    MemoryWindow* previous = nullptr;

  private:
    /// The part of a key that its owner chooses.
    static constexpr std::uint32_t kTag = 0xff;
    std::uint32_t index_ = 0;
    std::uint32_t base_ = 0;  ///< of all its keys
};

/// IBV_WR_BIND_MW and ibv_bind_mw, when their turn in the send queue has come. With the queue
/// pair's send_lock. @return IBV_WC_SUCCESS or IBV_WC_MW_BIND_ERR; kLocked: somebody is still at
/// work with the key of the binding before, and the request is to come again.
Outcome bind_window(QueuePair& qp, const SendWork& work);

/// IBV_WR_LOCAL_INV: of a window of type 2 that is bound to this queue pair. With its send_lock.
/// @return IBV_WC_SUCCESS or IBV_WC_MW_BIND_ERR; kLocked as for a bind.
Outcome invalidate_window(QueuePair& qp, std::uint32_t key);

/// IBV_WR_SEND_WITH_INV: ends a key in the target's table, while marked busy there.
/// @return false when it is not that of a window of type 2 bound to the target.
bool invalidate_at_target(const Target& target, std::uint32_t key);

/// Takes a region that is being deregistered out of bind_window's sight.
/// @return false, with nothing changed, while windows are bound to it.
bool withdraw_region(Adapter& adapter, MemoryRegion& region);

}  // namespace softverbs
