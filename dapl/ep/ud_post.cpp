// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ud_post.hpp"

#include <dat2/dat_ib_extensions.h>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/decorated.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/plain_post.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/post_limit.hpp"
#include "dapl/ep/ud_endpoint.hpp"
#include "dapl/ep/with_slot.hpp"

namespace dapl {
namespace {

constexpr DAT_UINT32 kLargestQpn = 0xFFFFFF;

/// Checks the destination of a send. Its address handle is the device's own and is not looked up.
bool is_usable(const DAT_IB_ADDR_HANDLE* to) {
    return to && to->ah && to->qpn <= kLargestQpn;
}

DAT_RETURN submit_datagram(Ep& ep, const Request& request, ibv_send_wr& work)
    EXCLUDES(ep.requests.lock) {
    support::SpinLockGuard lock(ep.requests.lock);
    if (!ep.requests.queue_pair) return kNoQueuePair;
    DAT_SEG_LENGTH length;
    const DAT_RETURN refused =
        measure(ep.ia, ep.requests.max_segments, request.segments, request.local, length);
    if (refused != DAT_SUCCESS) return refused;
    if (length > ep.ia.datagram_size()) return raw(DAT_LENGTH_ERROR);
    if (ep.requests.slots.limit() == 0) return raw(DAT_INTERNAL_ERROR);
    if (ep.requests.slots.stopped()) return kNoQueuePair;  // the EP is being freed or reset
    if (length > 0 && length <= ep.requests.max_inline) work.send_flags |= IBV_SEND_INLINE;
    return ep.requests.slots.has_room() ? submit(ep, request, length, work) : kOutOfMemory;
}

DAT_RETURN post_named(Ep& ep, const Request& request, const DAT_IB_ADDR_HANDLE& to) {
    ibv_send_wr work{};
    work.sg_list = as_scatter_list(request.local);
    work.num_sge = request.segments;
    work.opcode = IBV_WR_SEND;
    // There are no RDMA reads to wait for.
    work.send_flags = send_flags(request.flags) & ~unsigned{IBV_SEND_FENCE};
    work.wr.ud.ah = to.ah;
    work.wr.ud.remote_qpn = to.qpn;
    work.wr.ud.remote_qkey = ep.ud->service.queue_key;
    const DAT_RETURN code = submit_datagram(ep, request, work);
    report_refused_post(ep, request.operation, request.segments, request.local, code);
    return code;
}

DAT_RETURN post_datagram(DAT_HANDLE handle, const Request& request, const DAT_IB_ADDR_HANDLE* to) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep || !ep->ud) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (!is_usable(to)) return bad_argument(4);
    return decorated(*ep, request, false,
                     [ep, to](const Request& named) { return post_named(*ep, named, *to); });
}

}  // namespace

DAT_RETURN post_send_ud(DAT_HANDLE handle, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_SEND_UD;
    request.segments = va_arg(arguments, DAT_COUNT);
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    const auto* to = va_arg(arguments, DAT_IB_ADDR_HANDLE*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    request.flags = va_arg(arguments, unsigned);
    return recorded(handle, support::TraceCall::ib_post_send_ud, request,
                    post_datagram(handle, request, to));
}

DAT_RETURN free_ud_exchange(DAT_HANDLE handle, va_list arguments) {
    const auto context = va_arg(arguments, DAT_CONTEXT);
    return uncancelled([=](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Ep* ep = from_handle<Ep>(handle);
        if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
        if (!ep->ud) return raw(DAT_NOT_IMPLEMENTED);
        return ep->ud->forget_exchange(context.as_64) ? kSuccess : bad_argument(2);
    });
}

DAT_RETURN free_ud_address(DAT_HANDLE handle, va_list arguments) {
    const auto* address = va_arg(arguments, DAT_IB_ADDR_HANDLE*);
    return uncancelled([=](int) -> DAT_RETURN {
        const support::MutexLock guard(connection_lock);
        Ep* ep = from_handle<Ep>(handle);
        if (!ep || !ep->ud) return bad_handle(DAT_INVALID_HANDLE_EP);
        return address && ep->ud->free_address(address->ah) ? kSuccess : bad_argument(2);
    });
}

}  // namespace dapl
