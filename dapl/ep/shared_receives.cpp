// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/shared_receives.hpp"

#include <time.h>

#include <algorithm>
#include <limits>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {
namespace {

constexpr DAT_COUNT kNever = std::numeric_limits<DAT_COUNT>::max();
constexpr DAT_RETURN kNoWatermark = error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RECV_WATERMARK);
/// Longest wait for the device's last-WQE event, in pauses of 50 us. Devices that report the event
/// do so at once, and the others finish what is under way at once. The wait is short because
/// connection_lock is held: the service thread may be waiting for that lock with the event unread.
constexpr int kLastReceivePauses = 40;

DAT_COUNT limit_of(DAT_COUNT watermark) {
    return watermark == DAT_WATERMARK_INFINITE ? kNever : watermark;
}

}  // namespace

SharedReceives::SharedReceives(Ep& ep, Srq& queue)
    : srq(queue), ep_(ep), soft_(kNever), hard_(kNever), nearest_(kNever) {
    ++srq.users;
}

SharedReceives::~SharedReceives() {
    --srq.users;
}

void SharedReceives::set_nearest() {
    nearest_.store(std::min(soft_.load(), hard_.load()));
}

DAT_RETURN SharedReceives::set_watermarks(DAT_COUNT soft, DAT_COUNT hard) {
    if (soft < DAT_WATERMARK_INFINITE) return bad_argument(2);
    const bool above_hard = soft != DAT_WATERMARK_INFINITE && soft > limit_of(hard);
    if (hard < DAT_WATERMARK_INFINITE || above_hard) return bad_argument(3);
    ep_.parts.recv_evd->count_always();
    DAT_COUNT span;
    const DAT_COUNT held = ep_.parts.recv_evd->count_receives(ep_.receives, span);
    if (held > limit_of(hard)) return kNoWatermark;
    soft_.store(limit_of(soft));
    hard_.store(limit_of(hard));
    set_nearest();
    if (held > limit_of(soft)) exceeded(held);
    act_on_watermarks();
    return DAT_SUCCESS;
}

/// Disarms each watermark that was exceeded, so that its event comes once.
void SharedReceives::exceeded(DAT_COUNT held) {
    if (held > soft_.load()) {
        soft_.store(kNever);
        soft_exceeded_.store(true);
    }
    if (held > hard_.load()) {
        hard_.store(kNever);
        hard_exceeded_.store(true);
    }
    set_nearest();
    ep_.ia.watermark_exceeded.store(true);  // no events from here: the EVD's lock may be held
}

void SharedReceives::act_on_watermarks() {
    if (soft_exceeded_.exchange(false))
        post_async_event(ep_.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep_.handle(),
                         DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
    if (hard_exceeded_.exchange(false)) transfer_failed(ep_, {EpReason::Source::kWatermark});
}

void tell_watermarks(Ia& ia) {
    if (!ia.watermark_exceeded.load(std::memory_order_relaxed)) return;
    const support::MutexLock lock(connection_lock);
    if (!ia.watermark_exceeded.exchange(false)) return;
    for (Ep* ep = ia.eps.first(); ep; ep = ia.eps.after(*ep))
        if (ep->shared) ep->shared->act_on_watermarks();
}

void SharedReceives::last_reached(ibv_qp* queue_pair) {
    if (working_.compare_exchange_strong(queue_pair, nullptr))
        post_async_event(ep_.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep_.handle(), DAT_EP_OTHER_ERROR);
}

void SharedReceives::await_last(ibv_qp* queue_pair) {
    for (int pauses = 0; pauses < kLastReceivePauses && working_.load() == queue_pair; ++pauses) {
        const timespec pause{0, 50000};
        nanosleep(&pause, nullptr);
    }
    last_reached(queue_pair);
}

namespace entry {

DAT_RETURN ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT* held, DAT_COUNT* span) {
    return uncancelled([=](int) -> DAT_RETURN {
        Ep* ep = from_handle<Ep>(handle);
        if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
        const support::MutexLock lock(connection_lock);
        DAT_COUNT found_span = 0;
        const DAT_COUNT found =
            ep->parts.recv_evd ? ep->parts.recv_evd->count_receives(ep->receives, found_span) : 0;
        if (ep->shared) ep->shared->act_on_watermarks();
        if (held) *held = found;
        if (span) *span = found_span;
        return DAT_SUCCESS;
    });
}

DAT_RETURN ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard) {
    return uncancelled([=](int) -> DAT_RETURN {
        Ep* ep = from_handle<Ep>(handle);
        if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
        const support::MutexLock lock(connection_lock);
        return ep->shared ? ep->shared->set_watermarks(soft, hard) : kNoWatermark;
    });
}

}  // namespace entry
}  // namespace dapl
