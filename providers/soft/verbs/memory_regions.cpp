// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/memory_regions.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "providers/soft/verbs/completion_queue.hpp"
#include "providers/soft/verbs/context.hpp"
#include "providers/soft/verbs/memory_windows.hpp"

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
}

std::uint32_t next_key(std::uint32_t last, std::uint32_t index, std::uint64_t nonce) {
    // The generation starts anywhere, so that a guessed or old key is unlikely to fit.
    constexpr std::uint32_t kGenerations = 1u << kKeyIndexShift;
    constexpr std::uint32_t kSmallest = 1u << 8;
    std::uint32_t generation = last % kGenerations;
    if (last == 0) generation = static_cast<std::uint32_t>((nonce ^ (nonce >> 24) * index) >> 8);
    generation = std::max((generation + 1) % kGenerations, kSmallest);
    return index << kKeyIndexShift | generation;
}

namespace {

constexpr unsigned kRemoteChanges = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kSupportedAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                      IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                                      IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;

#if !defined(MADV_POPULATE_READ)  // Linux 5.14
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/// Touches every page in the way the device may, as an adapter that pins memory does: what is not
/// mapped, a page that only may be read where the device is to write, a hole at the end of a file
/// and a machine without memory are refused here and not in the middle of a transfer. Kernels that
/// cannot do that tell by msync, which does nothing else to ordinary memory, what is mapped at all.
int check_memory(void* address, std::size_t length, bool writes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(address) & ~(page - 1);
    const std::uintptr_t end =
        (reinterpret_cast<std::uintptr_t>(address) + length + page - 1) & ~(page - 1);
    if (end <= start || end - start < length) return EFAULT;
    auto* const first_page = reinterpret_cast<void*>(start);
    const int touch = writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (madvise(first_page, end - start, touch) == 0) return 0;
    const int cause = errno;
    const bool unknown = cause == EINVAL && madvise(first_page, 0, touch) != 0;
    if (!unknown) return cause == EINVAL ? EFAULT : cause;
    return msync(first_page, end - start, MS_ASYNC) == 0 ? 0 : EFAULT;
}

int check_request(const Registration& request) {
    const unsigned access = request.access;
    if ((access & ~kSupportedAccess) != 0) return EOPNOTSUPP;
    if (request.length == 0) return EINVAL;
    if ((access & kRemoteChanges) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
    return check_memory(request.address, request.length, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

/// A key that the region's entry of the table has not had for long.
std::uint32_t new_key(const MemoryRegion& mr, Adapter& adapter) {
    MrEntry& entry = adapter.view().mr(mr.index << kKeyIndexShift);
    entry.last_key = next_key(entry.last_key, mr.index, adapter.view().header().nonce);
    entry.ended.store(0, std::memory_order_seq_cst);
    return entry.last_key;
}

/// Fills the region's entry of the table and makes it known.
void publish(MemoryRegion& mr, const Registration& request, std::uint32_t key) {
    Adapter& adapter = *request.pd->owner().adapter;
    MrEntry& own = adapter.own_key(mr.index << kKeyIndexShift);
    own.pd = request.pd->number();
    own.access = request.access;
    own.address = reinterpret_cast<std::uintptr_t>(request.address);
    own.length = request.length;
    own.iova = request.iova;
    own.kind = KeyKind::kRegion;
    own.key.store(key, std::memory_order_seq_cst);
    MrEntry& entry = adapter.view().mr(mr.index << kKeyIndexShift);
    copy_terms(entry, own);
    mr.placement = SharedPages::of_process().hold(own.address, own.length);
    mr.placement.write_to(entry);
    entry.traffic.store(0, std::memory_order_relaxed);
    entry.key.store(key, std::memory_order_seq_cst);
    // One that is kept may have been ended just now.
    if (!adapter.stands(key)) entry.key.store(0, std::memory_order_seq_cst);
    mr.request = request;
    mr.context = request.pd->context;
    mr.pd = request.pd;
    mr.addr = request.address;
    mr.length = request.length;
    mr.handle = mr.index;
    mr.lkey = key;
    mr.rkey = key;
    {
        support::SpinLockGuard guard(adapter.window_lock);
        adapter.key_owners.enter(mr.index, &mr);
    }
    ++request.pd->users;
}

ibv_mr* register_memory(const Registration& request) {
    if (const int cause = check_request(request)) {
        errno = cause;
        return nullptr;
    }
    Adapter& adapter = *request.pd->owner().adapter;
    auto mr = std::make_unique<MemoryRegion>();
    support::MutexLock lock(adapter.mutex);
    const Result<std::uint32_t> index = adapter.take_mr();
    if (!index) {
        errno = index.error();
        return nullptr;
    }
    mr->index = *index;
    publish(*mr, request, new_key(*mr, adapter));
    return mr.release();
}

ibv_mr* try_register(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                     unsigned access) {
    const CancellationDisabled guard;
    try {
        const std::uint64_t base = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
        return register_memory({&ProtectionDomain::of(pd), address, length, base, access});
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

/// Data may still be on its way: requesters that saw the key are waited for, and payloads that
/// wait in receive slots are put where they belong while the memory is surely there. The region
/// keeps its entry, in which nobody finds it. @return 0, EBUSY while windows are bound to it.
int withdraw(MemoryRegion& mr) {
    Adapter& adapter = *Context::of(mr.context).adapter;
    if (!withdraw_region(adapter, mr)) return EBUSY;
    MrEntry& entry = adapter.view().mr(mr.index << kKeyIndexShift);
    entry.key.store(0, std::memory_order_seq_cst);
    adapter.wait_for_requesters();
    support::MutexLock lock(adapter.mutex);
    for (const auto& [index, cq] : adapter.completion_queues()) cq->deliver_payloads();
    adapter.own_key(mr.index << kKeyIndexShift).key.store(0, std::memory_order_seq_cst);
    --mr.request.pd->users;
    SharedPages::of_process().release(reinterpret_cast<std::uintptr_t>(mr.addr), mr.length,
                                      mr.placement,
                                      !adapter.process().service().on_service_thread());
    return 0;
}

int deregister(MemoryRegion& mr) {
    Adapter& adapter = *Context::of(mr.context).adapter;
    if (const int cause = withdraw(mr)) return cause;
    support::MutexLock lock(adapter.mutex);
    adapter.return_mr(mr.index);
    return 0;
}

/// What a region becomes by ibv_rereg_mr: the parts that are not to change are as they were.
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

/// All that can fail comes before the region is touched: a failure leaves it as it is. Peers go on
/// with the key that they have where only the rights change, as programs expect of adapters; not
/// where another process has ended it.
int reregister(MemoryRegion& mr, const Registration& request) {
    if (request.pd->context != mr.context) return EINVAL;
    if (const int cause = check_request(request)) return cause;
    const Registration before = mr.request;
    const bool only_rights = request.pd == before.pd && request.address == before.address &&
                             request.length == before.length;
    if (const int cause = withdraw(mr)) return cause;
    Adapter& adapter = *Context::of(mr.context).adapter;
    support::MutexLock lock(adapter.mutex);
    const bool keeps_key = only_rights && adapter.stands(mr.rkey);
    publish(mr, request, keeps_key ? mr.rkey : new_key(mr, adapter));
    return 0;
}

}  // namespace
}  // namespace softverbs

extern "C" {

using softverbs::Context;
using softverbs::ProtectionDomain;

ibv_pd* ibv_alloc_pd(ibv_context* context) {
    auto* pd = new (std::nothrow) ProtectionDomain;
    if (!pd) {
        errno = ENOMEM;
        return nullptr;
    }
    pd->context = context;
    pd->handle = Context::of(context).adapter->next_pd();
    return pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
    if (ProtectionDomain::of(pd).users != 0) return EBUSY;
    delete &ProtectionDomain::of(pd);
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
    if (const int cause = softverbs::deregister(*mine)) return cause;
    delete mine;
    return 0;
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access) {
    const softverbs::CancellationDisabled guard;
    const bool has_domain = (flags & IBV_REREG_MR_CHANGE_PD) == 0 || pd;
    if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || !has_domain) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    softverbs::MemoryRegion& mine = softverbs::MemoryRegion::of(mr);
    const int cause = softverbs::reregister(
        mine, softverbs::changed(mine, flags, pd ? &ProtectionDomain::of(pd) : nullptr, address,
                                 length, static_cast<unsigned>(access)));
    if (cause == 0) return 0;
    errno = cause;
    return IBV_REREG_MR_ERR_INPUT;
}

}  // extern "C"
