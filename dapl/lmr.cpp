// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/lmr.hpp"

#include <dat2/dat_ib_extensions.h>

#include "dapl/entry.hpp"
#include "dapl/events.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"

namespace dapl::entry {
namespace {

/// Local reading is always granted.
int access_flags(const Ia& ia, unsigned privileges, DAT_VA_TYPE va_type) {
    int access = 0;
    if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) access |= IBV_ACCESS_LOCAL_WRITE;
    if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG) access |= IBV_ACCESS_REMOTE_READ;
    if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) access |= IBV_ACCESS_REMOTE_WRITE;
    if (privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC && ia.is_infiniband())
        access |= IBV_ACCESS_REMOTE_ATOMIC;
    if (va_type == DAT_VA_TYPE_ZB) access |= IBV_ACCESS_ZERO_BASED;
    return access;
}

DAT_RETURN check_type(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION& region) {
    switch (static_cast<unsigned>(type)) {
        case DAT_MEM_TYPE_VIRTUAL:
            return DAT_SUCCESS;
        case DAT_MEM_TYPE_LMR:
            return from_handle<Lmr>(region.for_lmr_handle) ? error(DAT_NOT_IMPLEMENTED)
                                                           : bad_handle(DAT_INVALID_HANDLE_LMR);
        case DAT_MEM_TYPE_SHARED_VIRTUAL:
            return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
        default:
            return bad_argument(2);
    }
}

/// @return empty when the device refuses, for whatever reason: consumers' registration caches give
/// regions back and try again.
verbs::MemoryRegion register_memory(const Pz& pz, const DAT_LMR_PARAM& asked) {
    const int access = access_flags(pz.ia, asked.mem_priv, asked.va_type);
    return verbs::MemoryRegion(
        ibv_reg_mr(pz.domain.get(), asked.region_desc.for_va, asked.length, access));
}

DAT_RETURN create(Ia* ia, Pz* pz, DAT_LMR_PARAM& asked, DAT_LMR_HANDLE* handle) {
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!pz) return bad_handle(DAT_INVALID_HANDLE_PZ);
    if (!handle) return bad_argument(7);
    const DAT_RETURN refused = check_type(asked.mem_type, asked.region_desc);
    if (refused != DAT_SUCCESS) return refused;
    if (asked.va_type == DAT_VA_TYPE_ZB && ia->is_infiniband()) return error(DAT_NOT_IMPLEMENTED);
    verbs::MemoryRegion region = register_memory(*pz, asked);
    if (!region) return raw(DAT_INSUFFICIENT_RESOURCES);
    asked.lmr_context = region->lkey;
    asked.rmr_context = region->rkey;
    asked.registered_size = asked.length;
    asked.registered_address = reinterpret_cast<DAT_VADDR>(asked.region_desc.for_va);
    Lmr* lmr = make<Lmr>(&ia->provider.table, *ia, *pz, std::move(region), asked);
    support::MutexLock lock(ia->mutex);
    ia->lmrs.add(*lmr);
    *handle = lmr->handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_LMR_HANDLE handle) {
    Lmr* lmr = from_handle<Lmr>(handle);
    if (!lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
    Ia& ia = lmr->ia;
    {
        support::MutexLock lock(ia.mutex);
        ia.lmrs.remove(*lmr);
    }
    destroy(*lmr);
    return DAT_SUCCESS;
}

template <class T>
void give(T* wanted, T value) {
    if (wanted) *wanted = value;
}

/// Memory is coherent on every device that verbs knows: there is nothing to synchronise.
DAT_RETURN synchronise(DAT_IA_HANDLE ia) {
    return from_handle<Ia>(ia) ? kSuccess : bad_handle(DAT_INVALID_HANDLE_IA);
}

}  // namespace

DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                      DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                      DAT_VA_TYPE va_type, DAT_LMR_HANDLE* lmr, DAT_LMR_CONTEXT* lmr_context,
                      DAT_RMR_CONTEXT* rmr_context, DAT_VLEN* registered_length,
                      DAT_VADDR* registered_address) {
    DAT_LMR_PARAM asked{};
    asked.mem_type = type;
    asked.region_desc = region;
    asked.length = length;
    asked.pz_handle = pz;
    asked.mem_priv = privileges;
    asked.va_type = va_type;
    const DAT_RETURN code = uncancelled(
        [&](int) { return create(from_handle<Ia>(ia), from_handle<Pz>(pz), asked, lmr); });
    if (code != DAT_SUCCESS) return code;
    give(lmr_context, asked.lmr_context);
    give(rmr_context, asked.rmr_context);
    give(registered_length, asked.registered_size);
    give(registered_address, asked.registered_address);
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

DAT_RETURN lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET*, DAT_VLEN) {
    return synchronise(ia);
}

DAT_RETURN lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET*, DAT_VLEN) {
    return synchronise(ia);
}

}  // namespace dapl::entry
