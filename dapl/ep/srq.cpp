// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/srq.hpp"

#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/post_limit.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/transfer/work_request.hpp"

namespace dapl {

Srq::Srq(Ia& owner, Pz& zone, verbs::SharedReceiveQueue made, const DAT_SRQ_ATTR& settled,
         std::uint32_t device_capacity)
    : ia(owner),
      pz(zone),
      queue_(std::move(made)),
      max_segments_(settled.max_recv_iov),
      low_watermark_(settled.low_watermark),
      device_capacity_(device_capacity),
      limit_(settled.max_recv_dtos),
      arm_at_(settled.low_watermark) {
    slots_.reserve(static_cast<std::uint32_t>(limit_));
    queue_->srq_context = this;
    ++pz.users;
}

Srq::~Srq() {
    --pz.users;
}

DAT_RETURN Srq::post(DAT_COUNT segments, DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie) {
    const DAT_RETURN code = post_checked(segments, local, cookie);
    if (code != DAT_SUCCESS && is_unreported_limit(code)) [[unlikely]] {
        RefusedPost refused{};
        refused.object = "SRQ";
        refused.handle = handle();
        refused.id = id();
        refused.is_receive = true;
        refused.max_dtos = limit_;
        refused.posted = static_cast<DAT_COUNT>(slots_.posted());
        refused.max_segments = max_segments_;
        refused.segments = segments;
        refused.max_length = ia.port_attributes.max_msg_sz;
        refused.local = local;
        report_limit_of_post(refused, code);
    }
    return code;
}

DAT_RETURN Srq::post_checked(DAT_COUNT segments, DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie) {
    DAT_SEG_LENGTH length;
    const DAT_RETURN refused = measure(ia, max_segments_, segments, local, length);
    if (refused != DAT_SUCCESS) return refused;
    ibv_recv_wr work{};
    work.sg_list = as_scatter_list(local);
    work.num_sge = segments;
    DAT_COUNT arming = 0;
    int failed;
    {
        support::SpinLockGuard lock(lock_);
        if (slots_.posted() >= static_cast<std::uint32_t>(limit_)) return kOutOfMemory;
        const std::uint32_t slot = slots_.post(cookie);
        work.wr_id = WorkRequestId::shared_base(header().index) | slot;
        failed = post_receive(work, [this](ibv_recv_wr& receive) {
            ibv_recv_wr* refused_work;
            return ibv_post_srq_recv(queue_.get(), &receive, &refused_work);
        });
        if (failed != 0) {
            slots_.take_back(slot);
        } else if (arm_at_ != 0 && slots_.posted() >= static_cast<std::uint32_t>(arm_at_)) {
            arming = arm_at_;
            arm_at_ = 0;
        }
    }
    if (failed != 0) {
        report_post_refused_by_device(ia, failed, "a receive");
        return from_errno(failed);
    }
    if (arming == 0) return DAT_SUCCESS;
    if (const int unarmed = arm(arming)) refused_by_device(ia, unarmed, "an SRQ's low watermark");
    return DAT_SUCCESS;  // the receive is posted
}

int Srq::arm(DAT_COUNT low_watermark) {
    ibv_srq_attr attributes{};
    attributes.srq_limit = static_cast<std::uint32_t>(low_watermark);
    return ibv_modify_srq(queue_.get(), &attributes, IBV_SRQ_LIMIT);
}

/// Counts the receives whose completions are in an EVD. These are no longer available, but remain
/// outstanding until they are consumed, as do their slots.
DAT_COUNT Srq::count_complete() {
    DAT_COUNT complete = 0;
    support::MutexLock lock(ia.mutex);
    for (Evd* evd = ia.evds.first(); evd; evd = ia.evds.after(*evd))
        complete += evd->count_receives(*this);
    return complete;
}

DAT_RETURN Srq::set_low_watermark(DAT_COUNT low_watermark) {
    const DAT_COUNT complete = count_complete();
    support::MutexLock control(control_);
    {
        support::SpinLockGuard lock(lock_);
        if (low_watermark < 0 || low_watermark > limit_) return bad_argument(2);
    }
    // Some devices (rdma_rxe) check the limit only when the next message takes a receive. If the
    // count is below the watermark already, the event is posted here.
    const auto posted = static_cast<DAT_COUNT>(slots_.posted());
    const bool below = std::max(posted - complete, 0) < low_watermark;
    if (const int failed = arm(below ? 0 : low_watermark))
        return refused_by_device(ia, failed, "an SRQ's low watermark").value().code;
    low_watermark_ = low_watermark;
    {
        support::SpinLockGuard lock(lock_);
        arm_at_ = 0;
    }
    if (below) low_watermark_reached();
    return DAT_SUCCESS;
}

DAT_RETURN Srq::resize(DAT_COUNT max_recv_dtos) {
    support::MutexLock control(control_);
    const auto wanted = static_cast<std::uint32_t>(max_recv_dtos);
    if (max_recv_dtos <= low_watermark_) return error(DAT_INVALID_STATE);
    if (max_recv_dtos > ia.device_attributes.max_srq_wr) return raw(DAT_INSUFFICIENT_RESOURCES);
    if (wanted > device_capacity_) {
        ibv_srq_attr attributes{};
        attributes.max_wr = wanted;
        const int failed = ibv_modify_srq(queue_.get(), &attributes, IBV_SRQ_MAX_WR);
        if (is_beyond_device(failed)) return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        if (failed) return refused_by_device(ia, failed, "a larger SRQ").value().code;
        device_capacity_ = std::max(wanted, attributes.max_wr);
    }
    slots_.reserve(wanted);
    support::SpinLockGuard lock(lock_);
    if (slots_.posted() > wanted) return error(DAT_INVALID_STATE);
    limit_ = max_recv_dtos;
    return DAT_SUCCESS;
}

void Srq::query(DAT_SRQ_PARAM& parameters) {
    const DAT_COUNT complete = count_complete();
    parameters.ia_handle = consumer_handle(ia);
    parameters.srq_state = state();
    parameters.pz_handle = pz.handle();
    parameters.max_recv_iov = max_segments_;
    support::MutexLock control(control_);
    parameters.low_watermark = low_watermark_;
    support::SpinLockGuard lock(lock_);
    parameters.max_recv_dtos = limit_;
    parameters.outstanding_dto_count = static_cast<DAT_COUNT>(slots_.posted());
    parameters.available_dto_count = std::max(parameters.outstanding_dto_count - complete, 0);
}

void Srq::low_watermark_reached() {
    post_async_event(ia, DAT_ASYNC_ERROR_EP_BROKEN, handle(), DAT_SRQ_LOW_WATERMARK_EVENT);
}

void Srq::failed() {
    state_.store(DAT_SRQ_STATE_ERROR, std::memory_order_relaxed);
    post_async_event(ia, DAT_ASYNC_ERROR_EP_BROKEN, handle(), DAT_SRQ_TRANSFER_TO_ERROR);
}

void destroy_srq(Srq& srq) {
    revoke(srq);
    {
        support::MutexLock lock(srq.ia.mutex);
        srq.ia.srqs.remove(srq);
    }
    destroy(srq);
}

}  // namespace dapl
