// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/memory/lmr.hpp"

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {

namespace {
bool is_zero_based(const Ia& ia, DAT_VA_TYPE va_type) {
    return va_type == DAT_VA_TYPE_ZB && ia.is_infiniband();
}
void count_zero_based(Ia& ia, int change) {
    support::MutexLock lock(connection_lock);
    ia.zero_based_lmrs += change;
    limit_inline(ia);
}

}  // namespace

Lmr::Lmr(Ia& owner, Pz& zone, verbs::MemoryRegion made, const DAT_LMR_PARAM& asked, void* memory)
    : ia(owner), pz(zone), region(std::move(made)), parameters(asked), address(memory) {
    if (parameters.mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL) keep_cookie();
    if (is_zero_based(ia, parameters.va_type)) count_zero_based(ia, 1);
    ++pz.users;
}

Lmr::~Lmr() {
    if (is_zero_based(ia, parameters.va_type)) count_zero_based(ia, -1);
    region.reset();  // before its zone may be freed
    --pz.users;
}

/// Copies the cookie: the consumer's own may be gone when the LMR is queried.
void Lmr::keep_cookie() {
    DAT_LMR_COOKIE& given = parameters.region_desc.for_shared_memory.shared_memory_id;
    std::memcpy(cookie_, *given, sizeof cookie_);
    given = &cookie_;
}

bool is_part_of(const DAT_LMR_PARAM& region, const DAT_LMR_TRIPLET& segment) {
    const DAT_VADDR offset = segment.virtual_address - region.registered_address;
    return segment.lmr_context == region.lmr_context && offset <= region.registered_size &&
           segment.segment_length <= region.registered_size - offset;
}

bool grants_atomics(unsigned asked, unsigned of_region) {
    if (asked & DAT_IB_MEM_PRIV_REMOTE_ATOMIC) return true;
    constexpr unsigned kWithRead =
        DAT_MEM_PRIV_REMOTE_READ_FLAG | unsigned{DAT_OPENDAT_MEM_PRIV_ATOMIC_WITH_READ};
    return (asked & kWithRead) == kWithRead && (of_region & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) != 0;
}

namespace {

/// Local reads are always allowed.
unsigned access_flags(const Ia& ia, unsigned privileges) {
    unsigned access = 0;
    if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) access |= IBV_ACCESS_LOCAL_WRITE;
    if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG) access |= IBV_ACCESS_REMOTE_READ;
    if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) access |= IBV_ACCESS_REMOTE_WRITE;
    if (ia.has_atomics() && grants_atomics(privileges, privileges))
        access |= IBV_ACCESS_REMOTE_ATOMIC;
    if (ia.max_rmrs() > 0) access |= IBV_ACCESS_MW_BIND;
    return access;
}

support::Result<Memory> memory_of(const Ia& ia, const DAT_LMR_PARAM& asked) {
    const DAT_REGION_DESCRIPTION& region = asked.region_desc;
    switch (static_cast<unsigned>(asked.mem_type)) {
        case DAT_MEM_TYPE_VIRTUAL:
            return Memory{region.for_va, asked.length};
        case DAT_MEM_TYPE_LMR: {
            const Lmr* source = from_handle<Lmr>(region.for_lmr_handle);
            if (!source || &source->ia != &ia)
                return support::failure(bad_handle(DAT_INVALID_HANDLE_LMR), "source");
            return Memory{source->address, source->parameters.length};
        }
        case DAT_MEM_TYPE_SHARED_VIRTUAL:
            if (!region.for_shared_memory.shared_memory_id)
                return support::failure(bad_argument(3), "cookie");
            return Memory{region.for_shared_memory.virtual_address, asked.length};
        default:
            return support::failure(bad_argument(2), "memory type");
    }
}

/// A zero-based region has I/O virtual address 0 on devices that let it be chosen. iWARP adapters
/// have a flag for it but do not report what they make of it, so the address returned to the
/// consumer stays the memory's own.
verbs::MemoryRegion register_with(unsigned access, const Pz& pz, const Memory& memory,
                                  const DAT_LMR_PARAM& asked) {
    if (!is_zero_based(pz.ia, asked.va_type)) {
        if (asked.va_type == DAT_VA_TYPE_ZB) access |= IBV_ACCESS_ZERO_BASED;
        return verbs::MemoryRegion(
            ibv_reg_mr(pz.domain.get(), memory.address, memory.length, static_cast<int>(access)));
    }
    return verbs::MemoryRegion(
        ibv_reg_mr_iova2(pz.domain.get(), memory.address, memory.length, 0, access));
}

}  // namespace

support::Result<Memory> check_lmr(const Ia* ia, const Pz* pz, const DAT_LMR_PARAM& asked,
                                  const DAT_LMR_HANDLE* handle) {
    if (!ia) return support::failure(bad_handle(DAT_INVALID_HANDLE_IA), "adapter instance");
    if (!pz || &pz->ia != ia)
        return support::failure(bad_handle(DAT_INVALID_HANDLE_PZ), "protection zone");
    if (!handle) return support::failure(bad_argument(7), "handle");
    return memory_of(*ia, asked);
}

verbs::MemoryRegion register_memory(const Pz& pz, const Memory& memory,
                                    const DAT_LMR_PARAM& asked) {
    // Some devices (siw) miscount the pages of a region that wraps around the address space.
    if (memory.length > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(memory.address)) {
        errno = EFAULT;
        return {};
    }
    const unsigned access = access_flags(pz.ia, asked.mem_priv);
    verbs::MemoryRegion region = register_with(access, pz, memory, asked);
    const unsigned without_windows = access & ~static_cast<unsigned>(IBV_ACCESS_MW_BIND);
    // The kernel requires memory for windows to be writable, whatever the windows will grant. So
    // memory that the program itself can only read is registered without window access.
    if (region || access == without_windows || (access & IBV_ACCESS_LOCAL_WRITE)) return region;
    return register_with(without_windows, pz, memory, asked);
}

Lmr& add_lmr(Pz& pz, verbs::MemoryRegion region, const Memory& memory, DAT_LMR_PARAM& asked) {
    Ia& ia = pz.ia;
    const bool zero_based = is_zero_based(ia, asked.va_type);
    asked.length = memory.length;
    if (asked.lmr_context == 0) asked.lmr_context = region->lkey;
    asked.rmr_context = region->rkey;
    asked.registered_size = memory.length;
    asked.registered_address = zero_based ? 0 : reinterpret_cast<DAT_VADDR>(memory.address);
    Lmr* lmr = make<Lmr>(&ia.provider.table, ia, pz, std::move(region), asked, memory.address);
    support::MutexLock lock(ia.mutex);
    ia.lmrs.add(*lmr);
    ia.counters.count(DCNT_IA_LMR_CREATE);
    return *lmr;
}

void remove_lmr(Lmr& lmr) {
    Ia& ia = lmr.ia;
    {
        support::MutexLock lock(ia.mutex);
        ia.lmrs.remove(lmr);
        ia.counters.count(DCNT_IA_LMR_FREE);
    }
    destroy(lmr);
}

Lmr* find_lmr(Ia& ia, DAT_LMR_CONTEXT context) {
    support::MutexLock lock(ia.mutex);
    Lmr* lmr = ia.lmrs.first();
    while (lmr && lmr->parameters.lmr_context != context) lmr = ia.lmrs.after(*lmr);
    return lmr;
}

namespace {
template <class T>
void give(T* wanted, T value) {
    if (wanted) *wanted = value;
}
}  // namespace

void LmrOutputs::fill(const DAT_LMR_PARAM& made) const {
    give(lmr_context, made.lmr_context);
    give(rmr_context, made.rmr_context);
    give(registered_length, made.registered_size);
    give(registered_address, made.registered_address);
}

DAT_LMR_PARAM lmr_inputs(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION& region, DAT_VLEN length,
                         DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type) {
    DAT_LMR_PARAM asked{};
    asked.mem_type = type;
    asked.region_desc = region;
    asked.length = length;
    asked.pz_handle = pz;
    asked.mem_priv = privileges;
    asked.va_type = va_type;
    return asked;
}

namespace entry {
namespace {

DAT_RETURN create(Ia* ia, Pz* pz, DAT_LMR_PARAM& asked, DAT_LMR_HANDLE* handle) {
    const support::Result<Memory> memory = check_lmr(ia, pz, asked, handle);
    if (!memory) return code_of(memory);
    verbs::MemoryRegion region = register_memory(*pz, *memory, asked);
    if (!region) {
        registration_refused(*ia, errno, memory->length);
        return raw(DAT_INSUFFICIENT_RESOURCES);
    }
    *handle = add_lmr(*pz, std::move(region), *memory, asked).handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_LMR_HANDLE handle) {
    Lmr* lmr = from_handle<Lmr>(handle);
    if (!lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
    Ia& ia = lmr->ia;
    if (ia.rmr_table->is_bound_to(*lmr)) return raw(DAT_INVALID_STATE);
    // The device decides: a bind that failed may have left an older one in place.
    if (ibv_dereg_mr(lmr->region.get()) != 0) return raw(DAT_INVALID_STATE);
    static_cast<void>(lmr->region.release());
    remove_lmr(*lmr);
    return DAT_SUCCESS;
}

/// Whether the segments can be ranges of memory at all. Does not look up their registrations: this
/// is called once per transfer, and the device checks them.
bool are_segments(const DAT_LMR_TRIPLET* segments, DAT_VLEN count) {
    if (!segments) return count == 0;
    for (DAT_VLEN i = 0; i < count; ++i)
        if (segments[i].virtual_address + segments[i].segment_length < segments[i].virtual_address)
            return false;
    return true;
}

/// Memory is coherent on every device that verbs supports. All that is left to do is to keep the
/// compiler and the processor from moving accesses to it across the call.
DAT_RETURN synchronise(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET* segments, DAT_VLEN count) {
    if (!from_handle<Ia>(ia)) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!are_segments(segments, count)) return bad_argument(2);
    __sync_synchronize();  // the thread sanitizer does not support std::atomic_thread_fence
    return DAT_SUCCESS;
}

}  // namespace

DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                      DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                      DAT_VA_TYPE va_type, DAT_LMR_HANDLE* lmr, DAT_LMR_CONTEXT* lmr_context,
                      DAT_RMR_CONTEXT* rmr_context, DAT_VLEN* registered_length,
                      DAT_VADDR* registered_address) {
    DAT_LMR_PARAM asked = lmr_inputs(type, region, length, pz, privileges, va_type);
    const DAT_RETURN code = uncancelled(
        [&](int) { return create(from_handle<Ia>(ia), from_handle<Pz>(pz), asked, lmr); });
    if (code != DAT_SUCCESS) return code;
    LmrOutputs{lmr_context, rmr_context, registered_length, registered_address}.fill(asked);
    return DAT_SUCCESS;
}

DAT_RETURN lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM* parameters) {
    const Lmr* lmr = from_handle<Lmr>(handle);
    if (!lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
    if (!parameters) return bad_argument(3);
    *parameters = lmr->parameters;
    parameters->ia_handle = consumer_handle(lmr->ia);
    return DAT_SUCCESS;
}

DAT_RETURN lmr_free(DAT_LMR_HANDLE lmr) {
    return uncancelled([=](int) { return free(lmr); });
}

DAT_RETURN lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET* segments, DAT_VLEN count) {
    return synchronise(ia, segments, count);
}

DAT_RETURN lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET* segments, DAT_VLEN count) {
    return synchronise(ia, segments, count);
}

}  // namespace entry
}  // namespace dapl
