// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/memory_windows.hpp"

#include <sched.h>

#include <cerrno>
#include <memory>
#include <new>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

constexpr unsigned kWindowRights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kWindowChanges = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
/// Accepted without effect: windows are for peers, but programs name the owner's right all the
/// same.
constexpr unsigned kOfNoMeaning = IBV_ACCESS_LOCAL_WRITE;

/// Whether the queue pair through which the window was bound still exists: destroying it ends the
/// binding.
bool is_queue_pair_there(const MemoryWindow& window) {
    ArenaView arena = window.adapter().view();
    const std::int64_t index = arena.qp_index(window.qp_num);
    if (index < 0) return false;
    const QpEntry& entry = arena.qp(static_cast<std::uint32_t>(index));
    return entry.generation.load(std::memory_order_seq_cst) == window.qp_generation;
}

bool is_bound(const MemoryWindow& window) {
    if (window.key == 0 || window.entry().key.load(std::memory_order_seq_cst) != window.key)
        return false;
    return window.type == IBV_MW_TYPE_1 || is_queue_pair_there(window);
}

void link(MemoryWindow& window, MemoryRegion& region) {
    window.region = &region;
    window.previous = nullptr;
    window.next = region.windows;
    if (window.next) window.next->previous = &window;
    region.windows = &window;
}

void unlink(MemoryWindow& window) {
    if (!window.region) return;
    (window.previous ? window.previous->next : window.region->windows) = window.next;
    if (window.next) window.next->previous = window.previous;
    window.region = nullptr;
}

/// Ends the current binding. Requesters that have seen its key have yet to be waited for.
void retire_key(MemoryWindow& window) {
    if (is_bound(window)) {
        window.retiring = window.key;
        note_end(window.entry());
    }
    window.entry().key.store(0, std::memory_order_seq_cst);
    unlink(window);
}

/// The objects that a bind request names, with every condition checked.
struct Binding {
    MemoryWindow* window = nullptr;
    MemoryRegion* region = nullptr;  ///< nullptr: a type 1 window is unbound
};

/// Checks the rules of the window's type. @param window with is_changing false.
bool may_bind(const MemoryWindow& window, const QueuePair& qp, const SendWork& work) {
    if (!is_same_domain(window.pd, qp.pd)) return false;
    if (!window.has_key(work.rkey)) return false;
    // A bound window of type 2 must be invalidated first; a zero-length bind does not unbind it.
    return window.type == IBV_MW_TYPE_1 || (!is_bound(window) && work.bind.length != 0);
}

unsigned permitted_flags(const MemoryWindow& window) {
    constexpr unsigned kOfType1 = kWindowRights | kOfNoMeaning;
    return window.type == IBV_MW_TYPE_1 ? kOfType1 : kOfType1 | IBV_ACCESS_ZERO_BASED;
}

bool fits_region(const Adapter& adapter, const MemoryRegion& region, const SendWork& work) {
    const MrEntry& entry = adapter.own_key(work.bind.region);
    if (entry.key.load(std::memory_order_seq_cst) != work.bind.region) return false;
    if (!adapter.stands(work.bind.region)) return false;
    if ((entry.access & IBV_ACCESS_MW_BIND) == 0) return false;
    const bool changes = (work.bind.access & kWindowChanges) != 0;
    if (changes && (entry.access & IBV_ACCESS_LOCAL_WRITE) == 0) return false;
    const std::uint64_t offset = work.remote_addr - entry.iova;
    return offset <= region.length && work.bind.length <= region.length - offset;
}

bool check_bind(Adapter& adapter, const QueuePair& qp, const SendWork& work, Binding& binding)
    REQUIRES(adapter.window_lock) {
    binding = {};
    binding.window = adapter.key_owners.window(work.rkey);
    if (!binding.window || !may_bind(*binding.window, qp, work)) return false;
    if (work.bind.length == 0) return true;
    if ((work.bind.access & ~permitted_flags(*binding.window)) != 0) return false;
    binding.region = adapter.key_owners.region(work.bind.region);
    if (!binding.region || !is_same_domain(binding.region->pd, qp.pd)) return false;
    return fits_region(adapter, *binding.region, work);
}

/// Waits while another thread unbinds the window. Releases window_lock meanwhile.
void wait_while_changing(Adapter& adapter, std::uint32_t key) REQUIRES(adapter.window_lock) {
    for (;;) {
        const MemoryWindow* window = adapter.key_owners.window(key);
        if (!window || !window->is_changing) return;
        adapter.window_lock.unlock();
        sched_yield();
        adapter.window_lock.lock();
    }
}

void write_entry(const Binding& binding, const QueuePair& qp, const SendWork& work) {
    MemoryWindow& window = *binding.window;
    const Adapter& adapter = qp.adapter();
    const MrEntry& region = adapter.own_key(work.bind.region);
    MrEntry& own = adapter.own_key(work.rkey);
    window.key = work.rkey;
    window.qp_num = qp.qp_num;
    window.qp_generation = qp.entry().generation.load(std::memory_order_seq_cst);
    own.pd = ProtectionDomain::of(window.pd).number();
    own.access = work.bind.access & kWindowRights;
    own.address = region.address + (work.remote_addr - region.iova);
    own.length = work.bind.length;
    own.iova = (work.bind.access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : work.remote_addr;
    own.kind = window.type == IBV_MW_TYPE_1 ? KeyKind::kWindow : KeyKind::kQueuePairsWindow;
    own.qp_num = window.qp_num;
    own.qp_generation = window.qp_generation;
    own.counts_uses.store(region.counts_uses.load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
    own.region.store(work.bind.region, std::memory_order_relaxed);
    binding.region->placement.write_to(own);
    own.key.store(work.rkey, std::memory_order_seq_cst);
    MrEntry& entry = window.entry();
    copy_terms(entry, own);
    binding.region->placement.write_to(entry);
    entry.key.store(work.rkey, std::memory_order_seq_cst);
}

}  // namespace

Adapter& MemoryWindow::adapter() const {
    return *Context::of(context).adapter;
}

MrEntry& MemoryWindow::entry() const {
    return adapter().view().mr(index_ << kKeyIndexShift);
}

MemoryWindow* MemoryWindow::create(ProtectionDomain& pd, ibv_mw_type type) {
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
        errno = EINVAL;
        return nullptr;
    }
    Adapter& adapter = *pd.owner().adapter;
    auto window = std::make_unique<MemoryWindow>();
    const Result<std::uint32_t> index = adapter.take_mr();
    if (!index) {
        errno = index.error();
        return nullptr;
    }
    // The part of the key that the window keeps for its life differs from that of the entry's last
    // user.
    window->context = pd.context;
    window->pd = &pd;
    window->rkey = adapter.new_key(*index, kTag);
    window->handle = window->index_ = *index;
    window->base_ = window->rkey & ~kTag;
    window->type = type;
    {
        support::SpinLockGuard guard(adapter.window_lock);
        adapter.key_owners.enter(*index, window.get());
    }
    ++pd.users;
    return window.release();
}

int MemoryWindow::destroy(MemoryWindow* window) {
    if (window->handle != window->index_) return ENOENT;
    Adapter& adapter = window->adapter();
    {
        support::SpinLockGuard guard(adapter.window_lock);
        wait_while_changing(adapter, window->rkey);
        retire_key(*window);
    }
    const std::uint32_t key = window->retiring;
    if (key != 0 && !adapter.wait_for_key_users(key, Clock::now() + kRequesterPatience))
        return EBUSY;
    adapter.wait_for_own_threads();
    {
        support::SpinLockGuard guard(adapter.window_lock);
        adapter.key_owners.leave(window->index());
    }
    adapter.return_mr(window->index());
    --ProtectionDomain::of(window->pd).users;
    delete window;
    return 0;
}

/// Waits, for a short time, for users of the key that the window had; the request keeps its place
/// in the send queue and is tried again. Releases window_lock while it waits.
/// @return whether nobody uses the key any more.
bool wait_for_retired(Adapter& adapter, MemoryWindow& window) REQUIRES(adapter.window_lock) {
    if (window.retiring == 0) return true;
    window.is_changing = true;
    adapter.window_lock.unlock();
    const bool is_over = adapter.wait_for_key_users(window.retiring, Clock::now());
    if (is_over) adapter.wait_for_agent_copy();
    adapter.window_lock.lock();
    window.is_changing = false;
    if (is_over) window.retiring = 0;
    return is_over;
}

Outcome bind_window(QueuePair& qp, const SendWork& work) {
    Adapter& adapter = qp.adapter();
    Binding binding;
    support::SpinLockGuard guard(adapter.window_lock);
    wait_while_changing(adapter, work.rkey);
    if (!check_bind(adapter, qp, work, binding)) return done(IBV_WC_MW_BIND_ERR);
    MemoryWindow& window = *binding.window;
    retire_key(window);
    if (!wait_for_retired(adapter, window)) return {Progress::kLocked, IBV_WC_SUCCESS};
    if (!check_bind(adapter, qp, work, binding)) return done(IBV_WC_MW_BIND_ERR);
    if (!binding.region) return done(IBV_WC_SUCCESS);
    link(window, *binding.region);
    write_entry(binding, qp, work);
    return done(IBV_WC_SUCCESS);
}

Outcome invalidate_window(QueuePair& qp, std::uint32_t key) {
    Adapter& adapter = qp.adapter();
    support::SpinLockGuard guard(adapter.window_lock);
    MemoryWindow* window = adapter.key_owners.window(key);
    const bool names_one = window && window->type == IBV_MW_TYPE_2 && !window->is_changing &&
                           window->key == key && window->qp_num == qp.qp_num;
    if (!names_one) return done(IBV_WC_MW_BIND_ERR);
    const bool comes_again = window->retiring == key;
    if (!comes_again && !is_bound(*window)) return done(IBV_WC_MW_BIND_ERR);
    retire_key(*window);
    if (!wait_for_retired(adapter, *window)) return {Progress::kLocked, IBV_WC_SUCCESS};
    return done(IBV_WC_SUCCESS);
}

bool invalidate_at_target(const Target& target, std::uint32_t key) {
    MrEntry& entry = target.arena.mr(key);
    if (key == 0 || entry.key.load(std::memory_order_seq_cst) != key) return false;
    if (entry.kind != KeyKind::kQueuePairsWindow || entry.qp_num != target.qp_num ||
        entry.qp_generation != target.generation) {
        return false;
    }
    const bool unbound = entry.key.compare_exchange_strong(key, 0, std::memory_order_seq_cst);
    fault_point(FaultPoint::kWindowUnbound);
    if (unbound) note_end(entry);
    return unbound;
}

bool withdraw_region(Adapter& adapter, MemoryRegion& region) {
    support::SpinLockGuard guard(adapter.window_lock);
    for (const MemoryWindow* window = region.windows; window; window = window->next) {
        if (is_bound(*window)) return false;
    }
    while (region.windows) unlink(*region.windows);
    adapter.key_owners.leave(region.index);
    return true;
}

}  // namespace softverbs
