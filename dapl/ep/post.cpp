// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/post.hpp"

#include <dat2/dat_ib_extensions.h>

#include "dapl/adapter/ia.hpp"
#include "dapl/ep/decorated.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/plain_post.hpp"
#include "dapl/ep/post_limit.hpp"
#include "dapl/ep/with_slot.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/provider/traced.hpp"
#include "dapl/transfer/work_request.hpp"
#include "dapl/verbs/post.hpp"

namespace dapl {
namespace {

/// Checks any other transfer, in the order in which the errors take precedence. @return DAT_SUCCESS
/// with the sum of the lengths, and a slot is free.
DAT_RETURN check_transfer(const Ep& ep, Side& side, DAT_COUNT segments,
                          const DAT_LMR_TRIPLET* local, DAT_SEG_LENGTH& length)
    REQUIRES(side.lock) {
    if (!side.queue_pair) return kNoQueuePair;
    const DAT_RETURN refused = measure(ep.ia, side.max_segments, segments, local, length);
    if (refused != DAT_SUCCESS) return refused;
    if (side.slots.limit() == 0) return raw(DAT_INTERNAL_ERROR);
    const bool has_room = side.slots.stopped() ? !side.slots.is_full() : side.slots.has_room();
    return has_room ? kSuccess : kOutOfMemory;
}

DAT_RETURN check_request(Ep& ep, const Request& request, bool check_state, DAT_SEG_LENGTH& length)
    REQUIRES(ep.requests.lock) {
    if (ep.ud) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (check_state && !ep.state.takes_requests())
        return error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
    if (!is_send(request.operation) && !request.remote) return bad_argument(5);
    if (request.followed_by == FollowedBy::kNumber &&
        ep.requests.max_inline < sizeof request.immediate)
        return raw(DAT_MODEL_NOT_SUPPORTED);
    if (request.operation == DAT_DTO_RDMA_READ && request.segments > ep.ia.max_read_segments())
        return raw(DAT_INVALID_PARAMETER);
    return check_transfer(ep, ep.requests, request.segments, request.local, length);
}

/// A read behind a request: an acknowledged write has reached the peer's adapter, but not
/// necessarily its memory. The read does not overtake it. With zero bytes it needs no access right;
/// the last byte of a write cannot be read back before the write is in memory.
/// @param length of the request's data. @param into one byte, or none.
ibv_send_wr confirmation_of(const Request& request, DAT_SEG_LENGTH length, ibv_sge& into) {
    ibv_send_wr read{};
    read.opcode = IBV_WR_RDMA_READ;
    read.send_flags = send_flags(request.flags) & IBV_SEND_SIGNALED;
    if (!request.remote) return read;
    read.wr.rdma.remote_addr = request.remote->virtual_address;
    read.wr.rdma.rkey = request.remote->rmr_context;
    if (into.length == 0 || length == 0) return read;
    read.wr.rdma.remote_addr += length - 1;
    read.sg_list = &into;
    read.num_sge = 1;
    return read;
}

/// A send of the immediate data. The peer gets it after the write's data is placed.
/// @param number set to the data, which the device copies when the send is posted.
ibv_send_wr number_of(const Request& request, ibv_sge& number) {
    number = {reinterpret_cast<std::uintptr_t>(&request.immediate), sizeof request.immediate, 0};
    ibv_send_wr send{};
    send.opcode = IBV_WR_SEND;
    send.send_flags =
        send_flags(request.flags & ~unsigned{DAT_COMPLETION_BARRIER_FENCE_FLAG}) | IBV_SEND_INLINE;
    send.sg_list = &number;
    send.num_sge = 1;
    return send;
}

/// Posts a request with another one behind it. The first has its own slot and is unsignalled.
DAT_RETURN submit_pair(Ep& ep, const Request& request, DAT_SEG_LENGTH length)
    REQUIRES(ep.requests.lock) {
    const SlotRing& slots = ep.requests.slots;
    if (slots.posted() + 2 > slots.limit()) return kOutOfMemory;
    ibv_send_wr work;
    write_work_request(work, ep, request, length);
    work.send_flags &= ~unsigned{IBV_SEND_SIGNALED};
    const DAT_RETURN refused = with_room(
        ep.requests, request.cookie, length, request.operation | Slot::kSuppressed,
        [&work](ibv_qp* queue_pair, std::uint64_t id) {
            work.wr_id = WorkRequestId::first_half(id, WorkRequestId::kFirstOfPair);
            return verbs::post_send(queue_pair, work);
        },
        request.use);
    if (refused != DAT_SUCCESS) return refused;
    ibv_sge number;
    ibv_send_wr second = request.followed_by == FollowedBy::kNumber
                             ? number_of(request, number)
                             : confirmation_of(request, length, ep.requests.read_back);
    const std::uint32_t operation =
        request.operation | Slot::kSecondHalf | Slot::suppression(request.flags);
    const DAT_RETURN code = with_slot(ep.requests, request.cookie, length, operation,
                                      [&second](ibv_qp* queue_pair, std::uint64_t id) {
                                          second.wr_id = id;
                                          return verbs::post_send(queue_pair, second);
                                      });
    if (code == DAT_SUCCESS) ep.counters.posted(request.operation, length);
    return code;
}

DAT_RETURN post_checked(Ep& ep, Request request, bool check_state) {
    Evd* told;
    {
        // Held from before the state is checked, so that the queue pair is not replaced in between
        // by one that is not connected yet.
        support::SpinLockGuard lock(ep.requests.lock);
        DAT_SEG_LENGTH length;
        const DAT_RETURN refused = check_request(ep, request, check_state, length);
        if (refused != DAT_SUCCESS) return refused;
        if (ep.requests.confirms && length != 0 && reads_memory(opcode_of(request)))
            request.followed_by = FollowedBy::kConfirmation;
        if (!ep.requests.slots.stopped())
            return request.followed_by == FollowedBy::kNothing ? submit(ep, request, length)
                                                               : submit_pair(ep, request, length);
        told =
            Evd::post_flushed(ep.requests, request.cookie, length, request.operation, request.use);
        ep.counters.posted(request.operation, length);
    }
    if (told) told->tell_flushed();
    return DAT_SUCCESS;
}

[[gnu::noinline, gnu::cold]] DAT_RETURN post_slowly(Ep& ep, const Request& request,
                                                    bool check_state) {
    const DAT_RETURN code = post_checked(ep, request, check_state);
    report_refused_post(ep, request.operation, request.segments, request.local, code);
    return code;
}

/// Has the parameters of the entry functions, so that they only jump here.
template <DAT_DTOS operation>
[[gnu::noinline, gnu::cold]] DAT_RETURN post_slowly(DAT_EP_HANDLE handle, DAT_COUNT segments,
                                                    DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                                    const DAT_RMR_TRIPLET* remote,
                                                    DAT_COMPLETION_FLAGS flags) {
    return post_slowly(object_of<Ep>(handle), {operation, segments, local, cookie, remote, flags},
                       true);
}

constexpr support::TraceCall traced_call(DAT_DTOS operation) {
    switch (operation) {
        case DAT_DTO_RDMA_WRITE:
            return support::TraceCall::ep_post_rdma_write;
        case DAT_DTO_RDMA_READ:
            return support::TraceCall::ep_post_rdma_read;
        case DAT_DTO_RECEIVE:
            return support::TraceCall::ep_post_recv;
        default:
            return support::TraceCall::ep_post_send;
    }
}

template <DAT_DTOS operation>
[[gnu::noinline, gnu::cold]] DAT_RETURN post_traced(DAT_EP_HANDLE handle, DAT_COUNT segments,
                                                    DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                                    const DAT_RMR_TRIPLET* remote,
                                                    DAT_COMPLETION_FLAGS flags) {
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    const Request request{operation, segments, local, cookie, remote, flags};
    return traced_post(handle, traced_call(operation), request, post_slowly(*ep, request, true));
}

template <DAT_DTOS operation>
[[gnu::always_inline]] inline DAT_RETURN post(DAT_EP_HANDLE handle, DAT_COUNT segments,
                                              DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                              const DAT_RMR_TRIPLET* remote,
                                              DAT_COMPLETION_FLAGS flags) {
    if (support::data_path_traced()) [[unlikely]]
        return post_traced<operation>(handle, segments, local, cookie, remote, flags);
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    DAT_RETURN code;
    if (post_plain(*ep, {operation, segments, local, cookie, remote, flags}, true, code)) [[likely]]
        return DAT_SUCCESS;
    if (code != DAT_SUCCESS) return fast_post_refused(*ep, operation, code);
    return post_slowly<operation>(handle, segments, local, cookie, remote, flags);
}

DAT_RETURN post_checked_receive(Ep& ep, Request receive) {
    if (ep.shared) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    Evd* told;
    {
        support::SpinLockGuard lock(ep.receives.lock);
        DAT_SEG_LENGTH length;
        const DAT_RETURN refused =
            check_transfer(ep, ep.receives, receive.segments, receive.local, length);
        if (refused != DAT_SUCCESS) return refused;
        if (ep.ud) receive.operation = ep.receive_operation();
        if (!ep.receives.slots.stopped()) return submit_receive(ep, receive, length);
        told =
            Evd::post_flushed(ep.receives, receive.cookie, length, receive.operation, receive.use);
        ep.counters.posted(DAT_DTO_RECEIVE, length);
    }
    if (told) told->tell_flushed();
    return DAT_SUCCESS;
}

[[gnu::noinline, gnu::cold]] DAT_RETURN post_receive_slowly(Ep& ep, const Request& receive) {
    const DAT_RETURN code = post_checked_receive(ep, receive);
    report_refused_post(ep, receive.operation, receive.segments, receive.local, code);
    return code;
}

[[gnu::noinline, gnu::cold]] DAT_RETURN post_receive_traced(DAT_EP_HANDLE handle,
                                                            const Request& receive) {
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    return traced_post(handle, traced_call(DAT_DTO_RECEIVE), receive,
                       post_receive_slowly(*ep, receive));
}

}  // namespace

DAT_RETURN traced_post(DAT_EP_HANDLE ep, support::TraceCall call, const Request& request,
                       DAT_RETURN code) {
    const bool has_length = request.segments > 0 && request.local;
    support::trace_post(id_of(ep),
                        {call, request.cookie.as_64, has_length ? request.local->segment_length : 0,
                         request.segments, request.flags},
                        code);
    return code;
}

DAT_RETURN measure(const Ia& ia, int max_segments, DAT_COUNT segments, const DAT_LMR_TRIPLET* local,
                   DAT_SEG_LENGTH& length) {
    length = 0;
    if (segments == 0) return DAT_SUCCESS;
    if (segments < 0 || segments > max_segments) return raw(DAT_INVALID_PARAMETER);
    if (!local) return bad_argument(3);
    std::uint64_t total = 0;
    for (DAT_COUNT i = 0; i < segments; ++i) total += local[i].segment_length;
    if (total > ia.port_attributes.max_msg_sz) return raw(DAT_LENGTH_ERROR);
    length = static_cast<DAT_SEG_LENGTH>(total);
    return DAT_SUCCESS;
}

DAT_RETURN post_request(Ep& ep, const Request& given, bool check_state) {
    return decorated(ep, given, false, [&ep, check_state](const Request& request) {
        if (ep.ud) return bad_handle(DAT_INVALID_HANDLE_EP);
        DAT_RETURN code;
        if (post_plain(ep, request, check_state, code)) [[likely]]
            return code;
        if (code != DAT_SUCCESS) return fast_post_refused(ep, request.operation, code);
        return post_slowly(ep, request, check_state);
    });
}

DAT_RETURN post_ordinary_receive(Ep& ep, const Request& given) {
    return decorated(ep, given, true,
                     [&ep](const Request& receive) { return post_receive_slowly(ep, receive); });
}

DAT_RETURN post_immediate_receive(Ep& ep, const Request& given) {
    return decorated(ep, given, true, [&ep](const Request& receive) {
        return ep.ud ? bad_handle(DAT_INVALID_HANDLE_EP) : post_receive_slowly(ep, receive);
    });
}

namespace entry {

DAT_RETURN ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    return post<DAT_DTO_SEND>(ep, segments, local, cookie, nullptr, flags);
}

DAT_RETURN ep_post_send_with_invalidate(DAT_EP_HANDLE handle, DAT_COUNT segments,
                                        DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                        DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
                                        DAT_RMR_CONTEXT context) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (!ep->ia.has_windows(IBV_MW_TYPE_2)) return raw(DAT_MODEL_NOT_SUPPORTED);
    Request request{DAT_DTO_SEND, segments, local, cookie, nullptr, flags};
    request.invalidates = invalidate != DAT_FALSE;
    request.immediate = context;
    return post_request(*ep, request, true);
}

DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                              DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                              DAT_COMPLETION_FLAGS flags) {
    return post<DAT_DTO_RDMA_WRITE>(ep, segments, local, cookie, remote, flags);
}

DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                             DAT_COMPLETION_FLAGS flags) {
    return post<DAT_DTO_RDMA_READ>(ep, segments, local, cookie, remote, flags);
}

DAT_RETURN ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    const Request receive{DAT_DTO_RECEIVE, segments, local, cookie, nullptr, flags};
    if (support::data_path_traced()) [[unlikely]]
        return post_receive_traced(handle, receive);
    Ep* ep = from_called_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    DAT_RETURN code;
    if (post_plain_receive(*ep, receive, code)) [[likely]]
        return DAT_SUCCESS;
    if (code != DAT_SUCCESS) return fast_post_refused(*ep, DAT_DTO_RECEIVE, code);
    return post_receive_slowly(*ep, receive);
}

}  // namespace entry
}  // namespace dapl
