// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posts on adapter instances with the broker.
#include "broker/entry.hpp"
#include "broker/uses.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/plain_post.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/post_limit.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/traced.hpp"

namespace dapl::memory {

DAT_RETURN Registrations::post(const Request& request, bool is_receive,
                               DAT_RETURN (*post)(const void* what, const Request& request),
                               const void* what) {
    // No peer makes a datagram wait.
    const bool holds = is_receive || request.operation == DAT_IB_DTO_SEND_UD;
    Uses uses(*this, holds ? Use::kHold : Use::kRequest);
    const DAT_RETURN refused = uses.begin(request.segments, request.local);
    if (refused != DAT_SUCCESS) return refused;
    return uses.post([&](TransferUse* use) {
        Request named = request;
        named.local = uses.local();
        named.use = use;
        return post(what, named);
    });
}

namespace entry {
namespace {

/// Fast path: one segment, whose registration stands.
/// @param post bool(const Request&, DAT_RETURN&), which returns false, with nothing done, if the
/// transfer needs further checks. @return the same; false also for any other transfer.
template <class Post>
[[gnu::always_inline]] inline bool post_standing(const Ep& ep, const Request& request, Use kind,
                                                 const Post& post, DAT_RETURN& code) {
    if (request.segments != 1 || !request.local) [[unlikely]]
        return false;
    Registrations& registrations = *registrations_of(ep.ia);
    Registration* used = registrations.find(request.local->lmr_context);
    if (!used) [[unlikely]]
        return false;
    TransferUse use = transfer_use(*used, kind);
    bool is_posted = false;
    if (used->begin(kind) == Standing::kStanding) [[likely]] {
        used->count_use();
        DAT_LMR_TRIPLET named = *request.local;
        named.lmr_context = used->key.load(std::memory_order_relaxed);
        Request translated = request;
        translated.local = &named;
        translated.use = &use;
        is_posted = post(translated, code);
    }
    if (use) [[unlikely]]
        registrations.end_use(use);
    return is_posted;
}

template <DAT_DTOS operation>
[[gnu::always_inline]] inline DAT_RETURN post(DAT_EP_HANDLE handle, support::TraceCall call,
                                              DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                                              DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                                              DAT_COMPLETION_FLAGS flags) {
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    // Calls that are not inlined get copies, so that the members of this one stay constants.
    const Request request{operation, segments, local, cookie, remote, flags};
    const auto plainly = [ep](const Request& named, DAT_RETURN& code) {
        if (post_plain(*ep, named, true, code)) [[likely]]
            return true;
        return code != DAT_SUCCESS && fast_post_refused(*ep, operation, code);
    };
    DAT_RETURN code;
    if (!post_standing(*ep, request, Use::kRequest, plainly, code)) [[unlikely]]
        code = post_request(*ep, {operation, segments, local, cookie, remote, flags}, true);
    return recorded(handle, call, {operation, segments, local, cookie, remote, flags}, code);
}

}  // namespace

DAT_RETURN ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    return post<DAT_DTO_SEND>(ep, support::TraceCall::ep_post_send, segments, local, cookie,
                              nullptr, flags);
}

DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                              DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                              DAT_COMPLETION_FLAGS flags) {
    return post<DAT_DTO_RDMA_WRITE>(ep, support::TraceCall::ep_post_rdma_write, segments, local,
                                    cookie, remote, flags);
}

DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                             DAT_COMPLETION_FLAGS flags) {
    return post<DAT_DTO_RDMA_READ>(ep, support::TraceCall::ep_post_rdma_read, segments, local,
                                   cookie, remote, flags);
}

DAT_RETURN ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    const Request receive{DAT_DTO_RECEIVE, segments, local, cookie, nullptr, flags};
    const auto plainly = [ep](const Request& named, DAT_RETURN& code) {
        if (post_plain_receive(*ep, named, code)) [[likely]]
            return true;
        return code != DAT_SUCCESS && fast_post_refused(*ep, DAT_DTO_RECEIVE, code);
    };
    DAT_RETURN code;
    if (!post_standing(*ep, receive, Use::kHold, plainly, code)) [[unlikely]]
        code = post_ordinary_receive(*ep, receive);
    return recorded(handle, support::TraceCall::ep_post_recv, receive, code);
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
    return post_request(*ep, {DAT_DTO_RDMA_READ, 1, &segment, cookie, remote, flags}, true);
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

}  // namespace entry
}  // namespace dapl::memory
