// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posts on adapter instances with the broker.
#include "broker/entry.hpp"
#include "broker/uses.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/traced.hpp"

namespace dapl::memory::entry {
namespace {

DAT_RETURN traced(DAT_EP_HANDLE handle, support::TraceCall call, const Request& request,
                  DAT_RETURN code) {
    if (support::data_path_traced()) [[unlikely]] {
        const bool any = request.segments > 0 && request.local;
        const std::uint64_t length = any ? request.local->segment_length : 0;
        support::trace_post(id_of(handle),
                            {call, request.cookie.as_64, length, request.segments, request.flags},
                            code);
    }
    return code;
}

[[gnu::always_inline]] inline DAT_RETURN post(DAT_EP_HANDLE handle, support::TraceCall call,
                                              const Request& request) {
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    Uses uses(*registrations_of(ep->ia), Use::kRequest);
    DAT_RETURN code = uses.begin(request.segments, request.local);
    if (code == DAT_SUCCESS)
        code = uses.post(*ep, false, [&] {
            Request named = request;
            named.local = uses.local();
            return post_request(*ep, named, true);
        });
    return traced(handle, call, request, code);
}

}  // namespace

DAT_RETURN ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    return post(ep, support::TraceCall::ep_post_send,
                {DAT_DTO_SEND, segments, local, cookie, nullptr, flags});
}

DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                              DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                              DAT_COMPLETION_FLAGS flags) {
    return post(ep, support::TraceCall::ep_post_rdma_write,
                {DAT_DTO_RDMA_WRITE, segments, local, cookie, remote, flags});
}

DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                             DAT_COMPLETION_FLAGS flags) {
    return post(ep, support::TraceCall::ep_post_rdma_read,
                {DAT_DTO_RDMA_READ, segments, local, cookie, remote, flags});
}

DAT_RETURN ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    Uses uses(*registrations_of(ep->ia), Use::kHold);
    DAT_RETURN code = uses.begin(segments, local);
    if (code == DAT_SUCCESS)
        code = uses.post(*ep, true,
                         [&] { return post_plain_receive(*ep, segments, uses.local(), cookie); });
    return traced(handle, support::TraceCall::ep_post_recv,
                  {DAT_DTO_RECEIVE, segments, local, cookie, nullptr, flags}, code);
}

DAT_RETURN ep_post_send_with_invalidate(DAT_EP_HANDLE handle, DAT_COUNT segments,
                                        DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                        DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
                                        DAT_RMR_CONTEXT context) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    Uses uses(*registrations_of(ep->ia), Use::kRequest);
    const DAT_RETURN refused = uses.begin(segments, local);
    if (refused != DAT_SUCCESS) return refused;
    return uses.post(*ep, false, [&] {
        return dapl::entry::ep_post_send_with_invalidate(handle, segments, uses.local(), cookie,
                                                         flags, invalidate, context);
    });
}

/// The local context is that of an RMR, or the rmr_context of an LMR.
DAT_RETURN ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle, const DAT_RMR_TRIPLET* local,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                                    DAT_COMPLETION_FLAGS flags) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (ep->ia.max_rmrs() == 0) return raw(DAT_MODEL_NOT_SUPPORTED);
    if (!local) return bad_argument(2);
    if (!remote) return bad_argument(4);
    Registrations& registrations = *registrations_of(ep->ia);
    DAT_LMR_TRIPLET segment{};
    segment.virtual_address = local->virtual_address;
    segment.segment_length = local->segment_length;
    segment.lmr_context = local->rmr_context;
    RmrBinding binding;
    if (ep->ia.rmr_table->find(local->rmr_context, binding) == RmrTable::Found::kNone) {
        const Registration* named = registrations.of_remote_context(local->rmr_context);
        segment.lmr_context = named ? named->context.load(std::memory_order_relaxed) : 0;
    } else if (const DAT_RETURN refused = name_locally(ep->ia, segment); refused != DAT_SUCCESS) {
        return refused;
    }
    Uses uses(registrations, Use::kRequest);
    const DAT_RETURN refused = uses.begin(1, &segment);
    if (refused != DAT_SUCCESS) return refused;
    return uses.post(*ep, false, [&] {
        return post_request(*ep, {DAT_DTO_RDMA_READ, 1, uses.local(), cookie, remote, flags}, true);
    });
}

DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                         DAT_DTO_COOKIE cookie) {
    Srq* srq = from_handle<Srq>(handle);
    if (!srq) return bad_handle(DAT_INVALID_HANDLE_SRQ);
    Uses uses(*registrations_of(srq->ia), Use::kHold);
    const DAT_RETURN refused = uses.begin(segments, local);
    if (refused != DAT_SUCCESS) return refused;
    return uses.post_shared(cookie.as_64, srq, [&](DAT_DTO_COOKIE number) {
        return srq->post(segments, uses.local(), number);
    });
}

/// Also ends the uses of the receives that are still posted there, which never complete.
DAT_RETURN srq_free(DAT_SRQ_HANDLE handle) {
    const Srq* srq = from_handle<Srq>(handle);
    if (!srq) return bad_handle(DAT_INVALID_HANDLE_SRQ);
    Registrations& registrations = *registrations_of(srq->ia);
    const DAT_RETURN code = dapl::entry::srq_free(handle);
    if (code != DAT_SUCCESS) return code;
    registrations.records.end_all_of(
        srq, [&](Registration& used) { registrations.end_use(used, Use::kHold); });
    registrations.settle();
    return DAT_SUCCESS;
}

}  // namespace dapl::memory::entry
