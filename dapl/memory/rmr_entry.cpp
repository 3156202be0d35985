// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Creates, queries and frees RMRs, and finds the local name of the memory behind one.
#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {

DAT_RETURN name_locally(Ia& ia, DAT_LMR_TRIPLET& segment) {
    RmrBinding binding;
    const RmrTable::Found found = ia.rmr_table->find(segment.lmr_context, binding);
    if (found == RmrTable::Found::kNone) return DAT_SUCCESS;
    if (found == RmrTable::Found::kUnbound) return bad_argument(2);
    const bool zero_based = binding.va_type == DAT_VA_TYPE_ZB;
    const DAT_VADDR first = zero_based ? 0 : binding.triplet.virtual_address;
    const DAT_VADDR offset = segment.virtual_address - first;
    if (offset > binding.triplet.segment_length ||
        segment.segment_length > binding.triplet.segment_length - offset)
        return bad_argument(2);
    if (!(binding.privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
        return error(DAT_PRIVILEGES_VIOLATION);
    segment.virtual_address = binding.triplet.virtual_address + offset;
    segment.lmr_context = binding.triplet.lmr_context;
    return DAT_SUCCESS;
}

bool free_rmr(Rmr& rmr) {
    Ia& ia = rmr.ia;
    {
        support::MutexLock lock(ia.mutex);
        ia.rmrs.remove(rmr);  // a thread that unbinds its LMR must not see it
    }
    ia.rmr_table->replace(rmr, {});
    const bool has_ended = verbs::end(rmr.window);
    {
        support::MutexLock lock(ia.mutex);
        if (!has_ended) ia.rmrs.add(rmr);
        if (has_ended) ia.counters.count(DCNT_IA_RMR_FREE);
    }
    if (has_ended) destroy(rmr);
    return has_ended;
}

support::Result<Rmr*> make_rmr(Pz& pz, ibv_mw_type type) {
    Ia& ia = pz.ia;
    verbs::MemoryWindow window(ibv_alloc_mw(pz.domain.get(), type));
    if (!window) {
        const bool is_unknown = errno == EOPNOTSUPP || errno == ENOSYS;
        return support::failure(is_unknown
                                    ? raw(DAT_MODEL_NOT_SUPPORTED)
                                    : error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION),
                                "window");
    }
    Rmr* rmr = make<Rmr>(&ia.provider.table, pz, std::move(window));
    support::MutexLock lock(ia.mutex);
    ia.rmrs.add(*rmr);
    ia.counters.count(DCNT_IA_RMR_CREATE);
    return rmr;
}

namespace entry {
namespace {

DAT_RETURN create(DAT_PZ_HANDLE pz_handle, ibv_mw_type type, DAT_RMR_HANDLE* handle) {
    Pz* pz = from_handle<Pz>(pz_handle);
    if (!pz) return bad_handle(DAT_INVALID_HANDLE_PZ);
    if (!pz->ia.has_windows(type)) return raw(DAT_MODEL_NOT_SUPPORTED);
    if (!handle) return bad_argument(2);
    const support::Result<Rmr*> made = make_rmr(*pz, type);
    if (!made) return code_of(made);
    *handle = (*made)->handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_RMR_HANDLE handle) {
    Rmr* rmr = from_handle<Rmr>(handle);
    if (!rmr) return bad_handle(DAT_INVALID_HANDLE_RMR);
    if (!free_rmr(*rmr)) return raw(DAT_INVALID_STATE);
    return DAT_SUCCESS;
}

}  // namespace

DAT_RETURN rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE* rmr) {
    return uncancelled([=](int) { return create(pz, IBV_MW_TYPE_1, rmr); });
}

DAT_RETURN rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE* rmr) {
    return uncancelled([=](int) { return create(pz, IBV_MW_TYPE_2, rmr); });
}

DAT_RETURN rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM* parameters) {
    Rmr* rmr = from_handle<Rmr>(handle);
    if (!rmr) return bad_handle(DAT_INVALID_HANDLE_RMR);
    if (!parameters) return bad_argument(3);
    const RmrBinding binding = rmr->ia.rmr_table->binding_of(*rmr);
    if ((mask & DAT_RMR_FIELD_LMR_TRIPLET) && !binding.lmr) return bad_argument(2);
    parameters->ia_handle = consumer_handle(rmr->ia);
    parameters->pz_handle = rmr->pz.handle();
    parameters->lmr_triplet = binding.triplet;
    parameters->mem_priv = binding.privileges;
    parameters->rmr_context = binding.context;
    parameters->rmr_scope = rmr->is_for_ep() ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ;
    parameters->va_type = binding.va_type;
    return DAT_SUCCESS;
}

DAT_RETURN rmr_free(DAT_RMR_HANDLE rmr) {
    return uncancelled([=](int) { return free(rmr); });
}

}  // namespace entry
}  // namespace dapl
