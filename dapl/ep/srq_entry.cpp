// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl::entry {
namespace {

bool fits(const ibv_device_attr& device, const DAT_SRQ_ATTR& asked) {
    return asked.max_recv_dtos > 0 && asked.max_recv_dtos <= device.max_srq_wr &&
           asked.max_recv_iov >= 0 && asked.max_recv_iov <= device.max_srq_sge;
}

DAT_RETURN create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, const DAT_SRQ_ATTR* asked,
                  DAT_SRQ_HANDLE* handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    Pz* pz = from_handle<Pz>(pz_handle);
    if (!pz || &pz->ia != ia) return bad_handle(DAT_INVALID_HANDLE_PZ);
    if (!handle) return bad_argument(4);
    if (!asked || asked->low_watermark < 0) return bad_argument(3);
    if (ia->device_attributes.max_srq <= 0) return raw(DAT_MODEL_NOT_SUPPORTED);
    if (!fits(ia->device_attributes, *asked)) return raw(DAT_INSUFFICIENT_RESOURCES);
    ibv_srq_init_attr device{};
    device.attr.max_wr = static_cast<std::uint32_t>(asked->max_recv_dtos);
    device.attr.max_sge = static_cast<std::uint32_t>(std::max(asked->max_recv_iov, 1));
    verbs::SharedReceiveQueue made(ibv_create_srq(pz->domain.get(), &device));
    if (!made) return refused_by_device(*ia, errno, "a shared receive queue").value().code;
    Srq* srq =
        make<Srq>(&ia->provider.table, *ia, *pz, std::move(made), *asked, device.attr.max_wr);
    support::MutexLock lock(ia->mutex);
    ia->srqs.add(*srq);
    ia->counters.count(DCNT_IA_SRQ_CREATE);
    *handle = srq->handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_SRQ_HANDLE handle) {
    Srq* srq = from_handle<Srq>(handle);
    if (!srq) return bad_handle(DAT_INVALID_HANDLE_SRQ);
    if (srq->users > 0) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    srq->ia.counters.count(DCNT_IA_SRQ_FREE);
    destroy_srq(*srq);
    return DAT_SUCCESS;
}

/// Calls body(Srq&) with the SRQ of a handle, or returns the code for a bad handle.
template <class Body>
DAT_RETURN with_srq(DAT_SRQ_HANDLE handle, const Body& body) {
    Srq* srq = from_handle<Srq>(handle);
    return srq ? body(*srq) : bad_handle(DAT_INVALID_HANDLE_SRQ);
}

}  // namespace

DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR* attributes,
                      DAT_SRQ_HANDLE* srq) {
    return uncancelled([=](int) { return create(ia, pz, attributes, srq); });
}

DAT_RETURN srq_free(DAT_SRQ_HANDLE srq) {
    return uncancelled([=](int) { return free(srq); });
}

DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                         DAT_DTO_COOKIE cookie) {
    return with_srq(handle, [=](Srq& srq) { return srq.post(segments, local, cookie); });
}

DAT_RETURN srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM* parameters) {
    return uncancelled([=](int) {
        return with_srq(handle, [=](Srq& srq) {
            if (!parameters) return bad_argument(3);
            srq.query(*parameters);
            return kSuccess;
        });
    });
}

DAT_RETURN srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos) {
    return uncancelled(
        [=](int) { return with_srq(handle, [=](Srq& srq) { return srq.resize(max_recv_dtos); }); });
}

DAT_RETURN srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark) {
    return uncancelled([=](int) {
        return with_srq(handle, [=](Srq& srq) { return srq.set_low_watermark(low_watermark); });
    });
}

}  // namespace dapl::entry
