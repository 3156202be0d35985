// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/memory/pz.hpp"

#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {

support::Result<const ReadSink*> Pz::read_sink() {
    {
        const support::MutexLock lock(ia.mutex);
        if (read_sink_) return read_sink_.get();
    }
    auto made = ReadSink::make(ia, domain.get());
    if (!made) return tl::unexpected(made.error());
    const support::MutexLock lock(ia.mutex);
    if (!read_sink_) read_sink_.swap(*made);  // else another thread was faster
    return read_sink_.get();
}

namespace entry {
namespace {

DAT_RETURN create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE* pz_handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!pz_handle) return bad_argument(2);
    verbs::ProtectionDomain domain(ibv_alloc_pd(ia->context()));
    if (!domain) return refused_by_device(*ia, errno, "a protection domain").value().code;
    Pz* pz = make<Pz>(&ia->provider.table, *ia, std::move(domain));
    support::MutexLock lock(ia->mutex);
    ia->pzs.add(*pz);
    ia->counters.count(DCNT_IA_PZ_CREATE);
    *pz_handle = pz->handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_PZ_HANDLE handle) {
    Pz* pz = from_handle<Pz>(handle);
    if (!pz) return bad_handle(DAT_INVALID_HANDLE_PZ);
    if (pz->users > 0) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
    Ia& ia = pz->ia;
    {
        support::MutexLock lock(ia.mutex);
        ia.pzs.remove(*pz);
        ia.counters.count(DCNT_IA_PZ_FREE);
    }
    destroy(*pz);
    return DAT_SUCCESS;
}

}  // namespace

DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE* pz) {
    return uncancelled([=](int) { return create(ia, pz); });
}

DAT_RETURN pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM* parameters) {
    const Pz* pz = from_handle<Pz>(handle);
    if (!pz) return bad_handle(DAT_INVALID_HANDLE_PZ);
    if (!parameters) return bad_argument(3);
    parameters->ia_handle = consumer_handle(pz->ia);
    return DAT_SUCCESS;
}

DAT_RETURN pz_free(DAT_PZ_HANDLE pz) {
    return uncancelled([=](int) { return free(pz); });
}

}  // namespace entry
}  // namespace dapl
