// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queue: a verbs SRQ with the cookies of what is posted on it.
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
    /// @param made as large as `settled` says or larger. Throws std::bad_alloc.
    Srq(Ia& owner, Pz& zone, verbs::SharedReceiveQueue made, const DAT_SRQ_ATTR& settled,
        std::uint32_t device_capacity);
    ~Srq();

    /// Thread safe, never blocks: one lock, unless this post is the one that arms the low
    /// watermark of dat_srq_create.
    DAT_RETURN post(DAT_COUNT segments, DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie)
        EXCLUDES(lock_);
    DAT_RETURN resize(DAT_COUNT max_recv_dtos) EXCLUDES(control_, lock_);
    DAT_RETURN set_low_watermark(DAT_COUNT low_watermark) EXCLUDES(control_, lock_);
    void query(DAT_SRQ_PARAM& parameters) EXCLUDES(control_, lock_);

    struct Look {
        DAT_COUNT limit;  ///< receives that may be posted and not yet taken
        DAT_COUNT posted;
    };
    /// Seen from outside, without a lock.
    Look look() const { return {limit_, static_cast<DAT_COUNT>(slots_.posted())}; }

    /// A receive of this queue is complete: for the EVD that takes it. No lock.
    bool take(std::uint32_t slot, SharedSlots::Receive& taken) { return slots_.take(slot, taken); }
    bool peek(std::uint32_t slot, SharedSlots::Receive& found) const {
        return slots_.peek(slot, found);
    }

    /// The device says so; on the service thread.
    void low_watermark_reached();
    void failed();

    ibv_srq* queue() const { return queue_.get(); }
    DAT_SRQ_STATE state() const { return state_.load(std::memory_order_relaxed); }

    Ia& ia;
    Pz& pz;
    std::atomic<int> users{0};  ///< EPs that take receives from it; not freed before they are

  private:
    DAT_RETURN post_checked(DAT_COUNT segments, DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie)
        EXCLUDES(lock_);
    DAT_COUNT count_complete() EXCLUDES(control_, lock_);
    /// Arms the device. @return errno.
    int arm(DAT_COUNT low_watermark);

    const verbs::SharedReceiveQueue queue_;
    const DAT_COUNT max_segments_;
    std::atomic<DAT_SRQ_STATE> state_{DAT_SRQ_STATE_OPERATIONAL};

    support::Mutex control_;  ///< serialises the calls that change sizes or watermark
    DAT_COUNT low_watermark_ GUARDED_BY(control_);
    std::uint32_t device_capacity_ GUARDED_BY(control_);

    SharedSlots slots_;  ///< posted to with lock_ held
    support::SpinLock lock_;
    /// Receives that may be posted and not yet taken; changed with lock_ held.
    std::atomic<DAT_COUNT> limit_;
    /// The watermark that dat_srq_create was given, until so many receives have been posted: below
    /// it from the start is no news. 0: nothing to arm.
    DAT_COUNT arm_at_ GUARDED_BY(lock_);
};

/// @return the SRQ of a completion of a shared receive that makes an event
/// (dapl/evd/completion.hpp).
Srq& shared_queue(const ibv_wc& completion);
/// Ends it; its users are gone.
void destroy_srq(Srq& srq);

}  // namespace dapl
