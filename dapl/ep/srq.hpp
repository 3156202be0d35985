// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queue: a verbs SRQ with the cookies of the receives posted on it.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "dapl/base/codes.hpp"
#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/ep/shared_slots.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Ia;

class Srq final : public Object<Srq>, public ListNode<Srq> {
  public:
    static constexpr Kind kKind = Kind::kSrq;
    /// @param made at least as large as `settled` says. @param device_capacity its size in
    /// receives. Throws std::bad_alloc.
    Srq(Ia& owner, Pz& zone, verbs::SharedReceiveQueue made, const DAT_SRQ_ATTR& settled,
        std::uint32_t device_capacity);
    ~Srq();

    /// Posts a receive. Thread safe, never blocks. Takes one lock; the post that reaches the low
    /// watermark of dat_srq_create also calls the device to arm it.
    DAT_RETURN post(DAT_COUNT segments, DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie)
        EXCLUDES(lock_);
    DAT_RETURN resize(DAT_COUNT max_recv_dtos) EXCLUDES(control_, lock_);
    DAT_RETURN set_low_watermark(DAT_COUNT low_watermark) EXCLUDES(control_, lock_);
    void query(DAT_SRQ_PARAM& parameters) EXCLUDES(control_, lock_);

    struct Look {
        DAT_COUNT limit;  ///< slots that may be in use at a time
        DAT_COUNT posted;
    };
    /// Returns a lock-free snapshot for monitoring.
    Look look() const { return {limit_, static_cast<DAT_COUNT>(slots_.posted())}; }

    /// As in SharedSlots, for the EVD that has the completion. Lock-free.
    bool take(std::uint32_t slot, SharedSlots::Receive& taken) { return slots_.take(slot, taken); }
    bool peek(std::uint32_t slot, SharedSlots::Receive& found) const {
        return slots_.peek(slot, found);
    }

    /// Post the async event for a low watermark or an SRQ error. Called on the service thread when
    /// the device reports it; set_low_watermark() calls the former too.
    void low_watermark_reached();
    void failed();

    ibv_srq* queue() const { return queue_.get(); }
    DAT_SRQ_STATE state() const { return state_.load(std::memory_order_relaxed); }

    Ia& ia;
    Pz& pz;
    std::atomic<int> users{0};  ///< EPs on this SRQ, which cannot be freed before them

  private:
    DAT_RETURN post_checked(DAT_COUNT segments, DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie)
        EXCLUDES(lock_);
    DAT_COUNT count_complete() EXCLUDES(control_, lock_);
    /// Arms the device's limit event. @return errno.
    int arm(DAT_COUNT low_watermark);

    const verbs::SharedReceiveQueue queue_;
    const DAT_COUNT max_segments_;
    std::atomic<DAT_SRQ_STATE> state_{DAT_SRQ_STATE_OPERATIONAL};

    support::Mutex control_;  ///< serialises the calls that change the size or the watermark
    DAT_COUNT low_watermark_ GUARDED_BY(control_);
    std::uint32_t device_capacity_ GUARDED_BY(control_);

    SharedSlots slots_;  ///< posts hold lock_
    support::SpinLock lock_;
    /// Slots that may be in use at a time; changed with lock_ held.
    std::atomic<DAT_COUNT> limit_;
    /// Low watermark of dat_srq_create, until that many receives are posted and it is armed: a new
    /// SRQ is below it without having fallen below it. 0: nothing to arm.
    DAT_COUNT arm_at_ GUARDED_BY(lock_);
};

/// @return the SRQ of a completion of a shared receive that makes an event
/// (dapl/evd/completion.hpp).
Srq& shared_queue(const ibv_wc& completion);
/// Destroys an SRQ that no EP uses any more.
void destroy_srq(Srq& srq);

}  // namespace dapl
