// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

#include "providers/soft/softverbs/memory/memory_check.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/memory_windows.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {

void copy_terms(MrEntry& to, const MrEntry& from) {
    to.pd = from.pd;
    to.access = from.access;
    to.address = from.address;
    to.length = from.length;
    to.iova = from.iova;
    to.kind = from.kind;
    to.qp_num = from.qp_num;
    to.qp_generation = from.qp_generation;
    to.counts_uses.store(from.counts_uses.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
    to.region.store(from.region.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void note_end(MrEntry& entry) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    entry.uses.last = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
    entry.ended_by = getpid();
}

namespace {

constexpr unsigned kRemoteChanges = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kSupportedAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
    IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE;

/// Checks a request. A zero-length region has keys but no memory, and that of a region on demand is
/// looked for when it is used. @return 0 or an errno.
int check_request(const Registration& request) {
    const unsigned access = request.access;
    if ((access & ~kSupportedAccess) != 0) return EOPNOTSUPP;
    if ((access & kRemoteChanges) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
    if (request.length == 0 || request.is_on_demand()) return 0;
    return check_memory(request.address, request.length, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

std::uint32_t new_key(const MemoryRegion& mr, Adapter& adapter) {
    const std::uint32_t key = adapter.new_key(mr.index);
    adapter.view().mr(key).ended.store(0, std::memory_order_seq_cst);
    return key;
}

/// Decides the path of the pages. May allocate, and so is called without locks. The kernel copies
/// all that an implicit region names, also where plain copies reach it through another one.
Placement hold_pages(const Registration& request) {
    if (request.is_implicit()) return {{}, PageReason::kMixed};
    if (request.length == 0) return {};
    return SharedPages::of_process().hold(reinterpret_cast<std::uintptr_t>(request.address),
                                          request.length);
}

void release_pages(const Registration& request, const Placement& placement) {
    if (request.length == 0 || request.is_implicit()) return;
    SharedPages::of_process().release(reinterpret_cast<std::uintptr_t>(request.address),
                                      request.length, placement);
}

/// Makes the key of an entry valid that has been filled in.
void validate(MemoryRegion& mr, std::uint32_t key) {
    Adapter& adapter = *mr.request.pd->owner().adapter;
    MrEntry& entry = adapter.view().mr(key);
    adapter.own_key(key).key.store(key, std::memory_order_seq_cst);
    entry.key.store(key, std::memory_order_seq_cst);
    // If the region keeps its key, another process may just have ended it.
    if (!adapter.stands(key)) entry.key.store(0, std::memory_order_seq_cst);
    support::SpinLockGuard guard(adapter.window_lock);
    adapter.key_owners.enter(mr.index, &mr);
}

/// Fills in the region's entry, in the private table and in the arena, and makes the key valid.
void publish(MemoryRegion& mr, std::uint32_t key) {
    const Registration& request = mr.request;
    Adapter& adapter = *request.pd->owner().adapter;
    MrEntry& own = adapter.own_key(mr.index << kKeyIndexShift);
    own.pd = request.pd->number();
    own.access = request.access;
    own.address = reinterpret_cast<std::uintptr_t>(request.address);
    own.length = request.length;
    own.iova = request.iova;
    own.kind = KeyKind::kRegion;
    own.counts_uses = mr.counts_uses;
    own.region.store(key, std::memory_order_relaxed);
    mr.placement.write_to(own);
    MrEntry& entry = adapter.view().mr(mr.index << kKeyIndexShift);
    copy_terms(entry, own);
    mr.placement.write_to(entry);
    mr.context = request.pd->context;
    mr.pd = request.pd;
    mr.addr = request.address;
    mr.length = request.length;
    mr.handle = mr.index;
    mr.lkey = key;
    mr.rkey = key;
    mr.is_withdrawn = false;
    validate(mr, key);
}

/// Marks the memory as initialised for valgrind's memcheck, which does not see what peers write and
/// would report it as uninitialised.
void mark_as_initialised([[maybe_unused]] const Registration& request) {
#ifdef VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE
    if ((request.access & IBV_ACCESS_LOCAL_WRITE) != 0 && !request.is_on_demand())
        VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(request.address, request.length);
#endif
}

ibv_mr* try_register(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                     unsigned access) {
    const CancellationDisabled guard;
    if (is_refused(pd->context, faults::Subject::kRegMr)) return nullptr;
    try {
        const std::uint64_t base = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
        return register_memory({&ProtectionDomain::of(pd), address, length, base, access});
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

/// Whether a peer may have accessed the memory.
bool concerns_peers(const Registration& request) {
    constexpr unsigned kReadAlone =
        IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_ON_DEMAND;
    return (request.access & ~(kReadAlone | IBV_ACCESS_OPTIONAL_RANGE)) != 0;
}

void invalidate(Adapter& adapter, const MemoryRegion& mr) {
    const std::uint32_t any = mr.index << kKeyIndexShift;
    adapter.view().mr(any).key.store(0, std::memory_order_seq_cst);
    adapter.own_key(any).key.store(0, std::memory_order_seq_cst);
}

/// Invalidates the region's key. @return 0, EBUSY while windows are bound.
int withdraw_key(Adapter& adapter, MemoryRegion& mr) {
    if (mr.is_withdrawn) return 0;
    if (!withdraw_region(adapter, mr)) return EBUSY;
    invalidate(adapter, mr);
    note_end(adapter.view().mr(mr.lkey));
    mr.is_withdrawn = true;
    return 0;
}

/// Waits for those who have seen the region's key, which is invalid now.
/// @return false when a requester is still in the middle of a transfer at the deadline.
bool wait_for_users(Adapter& adapter, const MemoryRegion& mr, Deadline deadline) {
    if (concerns_peers(mr.request) && !adapter.wait_for_key_users(mr.lkey, deadline)) return false;
    adapter.wait_for_own_threads();
    adapter.pass_pollers();
    return true;
}

/// Invalidates the key, then waits for requesters that have seen it and for threads of this
/// process, as data may still be on its way. A payload that waits in a receive slot is dropped when
/// it is polled, since the memory may be in use for something else by then.
/// @return 0, or EBUSY while windows are bound or when a requester is in the middle of a transfer.
/// In the latter case the key is invalid, and a later call finishes.
int withdraw(MemoryRegion& mr) {
    Adapter& adapter = *Context::of(mr.context).adapter;
    if (const int cause = withdraw_key(adapter, mr)) return cause;
    if (!wait_for_users(adapter, mr, Clock::now() + kRequesterPatience)) return EBUSY;
    --mr.request.pd->users;
    release_pages(mr.request, mr.placement);
    return 0;
}

/// Lets peers that wait for the region find it as it is now.
void end_absence(Adapter& adapter, MemoryRegion& mr) {
    mr.is_away = false;
    adapter.view().mr(mr.lkey).absence.store(Absence::kNone, std::memory_order_seq_cst);
    adapter.wake_requesters();
}

/// Ends a region that is away.
void end_away(Adapter& adapter, MemoryRegion& mr) {
    adapter.absent_regions.leave(mr);
    note_end(adapter.view().mr(mr.lkey));
    end_absence(adapter, mr);
    --mr.request.pd->users;
}

int deregister(MemoryRegion& mr) {
    Adapter& adapter = *Context::of(mr.context).adapter;
    if (mr.is_away) {
        end_away(adapter, mr);
    } else if (const int cause = withdraw(mr)) {
        return cause;
    }
    adapter.return_mr(mr.index);
    return 0;
}

/// Returns the registration after ibv_rereg_mr: the parts that are not to change are as they were.
Registration changed(const MemoryRegion& mr, int flags, ProtectionDomain* pd, void* address,
                     std::size_t length, unsigned access) {
    Registration request = mr.request;
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) request.pd = pd;
    if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) request.access = access;
    if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
        const bool zero_based = (request.access & IBV_ACCESS_ZERO_BASED) != 0;
        request.address = address;
        request.length = length;
        request.iova = zero_based ? 0 : reinterpret_cast<std::uintptr_t>(address);
    }
    return request;
}

/// Everything that can fail comes before the region is changed, so a failure leaves it as it is;
/// except that EBUSY because of a requester leaves its key invalid. If only the rights change,
/// peers continue to use the key that they have, as programs expect of adapters, unless another
/// process has ended it.
int reregister(MemoryRegion& mr, const Registration& request) {
    if (request.pd->context != mr.context || mr.is_away) return EINVAL;
    if (mr.request.backing && request.address != mr.request.address) return EINVAL;
    if (const int cause = check_request(request)) return cause;
    const Registration before = mr.request;
    const bool only_rights = is_same_domain(request.pd, before.pd) &&
                             request.address == before.address && request.length == before.length;
    const Placement placement = hold_pages(request);
    if (const int cause = withdraw(mr)) {
        release_pages(request, placement);
        return cause;
    }
    mr.request = request;
    mr.placement = placement;
    Adapter& adapter = *Context::of(mr.context).adapter;
    const bool keeps_key = only_rights && adapter.stands(mr.rkey);
    publish(mr, keeps_key ? mr.rkey : new_key(mr, adapter));
    ++request.pd->users;
    return 0;
}

}  // namespace

ibv_mr* register_memory(const Registration& request) {
    if (const int cause = check_request(request)) {
        errno = cause;
        return nullptr;
    }
    Adapter& adapter = *request.pd->owner().adapter;
    auto mr = std::make_unique<MemoryRegion>();
    mr->request = request;
    mr->placement = hold_pages(request);
    const Result<std::uint32_t> index = adapter.take_mr();
    if (!index) {
        release_pages(request, mr->placement);
        errno = index.error();
        return nullptr;
    }
    mr->index = *index;
    publish(*mr, new_key(*mr, adapter));
    ++request.pd->users;
    mark_as_initialised(request);
    return mr.release();
}

const verbs::RegionUses& begin_counting(MemoryRegion& mr) {
    Adapter& adapter = *Context::of(mr.context).adapter;
    MrEntry& entry = adapter.view().mr(mr.lkey);
    entry.uses.count.store(0, std::memory_order_relaxed);
    entry.uses.last.store(0, std::memory_order_relaxed);
    adapter.own_key(mr.lkey).counts_uses = 1;
    entry.counts_uses = 1;
    mr.counts_uses = true;
    return entry.uses;
}

int suspend(MemoryRegion& mr, const RegionWanted& wanted) {
    Adapter& adapter = *Context::of(mr.context).adapter;
    if (mr.is_away || mr.is_withdrawn || !adapter.stands(mr.lkey)) return EINVAL;
    if (!withdraw_region(adapter, mr)) return EBUSY;
    // Before the key becomes invalid: whoever finds it so looks whether the region is away.
    std::atomic<Absence>& absence = adapter.view().mr(mr.lkey).absence;
    absence.store(Absence::kAway, std::memory_order_seq_cst);
    invalidate(adapter, mr);
    if (!adapter.pass_senders() || !wait_for_users(adapter, mr, Clock::now())) {
        validate(mr, mr.lkey);
        absence.store(Absence::kNone, std::memory_order_seq_cst);
        return EBUSY;
    }
    release_pages(mr.request, mr.placement);
    mr.wanted = wanted;
    mr.is_away = true;
    adapter.absent_regions.enter(mr);
    // A peer that asked before this found nobody who could be told.
    if (absence.load(std::memory_order_seq_cst) == Absence::kWanted) wanted.tell(wanted.context);
    return 0;
}

int resume(MemoryRegion& mr) {
    if (!mr.is_away) return EINVAL;
    if (const int cause = check_request(mr.request)) return cause;
    mr.placement = hold_pages(mr.request);
    Adapter& adapter = *Context::of(mr.context).adapter;
    adapter.absent_regions.leave(mr);
    publish(mr, mr.lkey);
    end_absence(adapter, mr);
    return 0;
}

}  // namespace softverbs

extern "C" {

using softverbs::Context;
using softverbs::ProtectionDomain;

ibv_pd* ibv_alloc_pd(ibv_context* context) {
    if (softverbs::is_refused(context, softverbs::faults::Subject::kAllocPd)) return nullptr;
    softverbs::ObjectCount& pds = Context::of(context).adapter->pds;
    ProtectionDomain* pd = nullptr;
    if (pds.take()) {
        pd = new (std::nothrow) ProtectionDomain(Context::of(context));
        if (!pd) pds.put();
    }
    if (!pd) errno = ENOMEM;
    return pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
    ProtectionDomain* mine = &ProtectionDomain::of(pd);
    if (pd->handle != mine->number()) return softverbs::also_errno(ENOENT);
    if (mine->users != 0) return softverbs::also_errno(EBUSY);
    mine->owner().adapter->pds.put();
    delete mine;
    return 0;
}

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
    return softverbs::try_register(pd, address, length, reinterpret_cast<uintptr_t>(address),
                                   static_cast<unsigned>(access));
}

#undef ibv_reg_mr_iova
ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) {
    return softverbs::try_register(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access) {
    return softverbs::try_register(pd, address, length, iova, access);
}

int ibv_dereg_mr(ibv_mr* mr) {
    const softverbs::CancellationDisabled guard;
    softverbs::MemoryRegion* mine = &softverbs::MemoryRegion::of(mr);
    if (mr->handle != mine->index) return softverbs::also_errno(ENOENT);
    if (const int cause = softverbs::deregister(*mine)) return softverbs::also_errno(cause);
    delete mine;
    return 0;
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access) {
    const softverbs::CancellationDisabled guard;
    const bool has_domain = (flags & IBV_REREG_MR_CHANGE_PD) == 0 || pd;
    const bool has_memory = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) == 0 || length != 0;
    const bool is_known = flags != 0 && (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) == 0;
    if (!is_known || !has_domain || !has_memory) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    softverbs::MemoryRegion& mine = softverbs::MemoryRegion::of(mr);
    int cause = ENOMEM;
    try {
        cause = softverbs::reregister(
            mine, softverbs::changed(mine, flags, pd ? &ProtectionDomain::of(pd) : nullptr, address,
                                     length, static_cast<unsigned>(access)));
    } catch (const std::bad_alloc&) {
    }
    if (cause == 0) return 0;
    errno = cause;
    return mine.is_withdrawn ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
}

}  // extern "C"
