// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues. The owner posts slots into an order; requesters take them by
/// compare-and-swap on the slot's own word, which then says for which queue pair, so that a slot
/// taken by a requester that died is found and flushed.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "dapl/support/mutex.hpp"
#include "providers/soft/verbs/context.hpp"
#include "providers/soft/verbs/target.hpp"

namespace softverbs {

/// Takes the oldest receive for the queue pair `qp_num` of the ring's owner. Any process.
/// @return the slot, -1 when none is posted. Sets `limit_reached` for the one that meets the limit.
std::int64_t take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 bool& limit_reached);

class SharedReceiveQueue : public ibv_srq {
  public:
    static SharedReceiveQueue& of(ibv_srq* srq) { return *static_cast<SharedReceiveQueue*>(srq); }
    static SharedReceiveQueue* create(ProtectionDomain& pd, ibv_srq_init_attr& attributes);
    static int destroy(SharedReceiveQueue* srq);

    int post(ibv_recv_wr* wr, ibv_recv_wr** bad) EXCLUDES(lock_);
    int modify(const ibv_srq_attr& attributes, int mask);
    void query(ibv_srq_attr& attributes) const;

    /// poll_cq has seen the slot's completion.
    void free_slot(std::uint32_t slot) EXCLUDES(lock_);
    std::uint64_t wr_id(std::uint32_t slot) const { return ids_[slot & (ring_.size - 1)]; }
    /// @return the slots that were taken for a queue pair and are not freed.
    std::vector<std::uint32_t> taken_for(std::uint32_t qp_num) const;
    void attach(class QueuePair* qp) EXCLUDES(lock_);
    void detach(class QueuePair* qp) EXCLUDES(lock_);
    /// Service thread: the limit was reached.
    void serve_kick();

    std::uint32_t index() const { return index_; }
    const ReceiveRing& ring() const { return ring_; }
    Adapter& adapter() const { return *Context::of(context).adapter; }

  private:
    int allocate(std::uint32_t depth, std::uint32_t max_sge);
    void wake_requesters() EXCLUDES(lock_);
    bool post_one(const ibv_recv_wr& wr) REQUIRES(lock_);

    ReceiveRing ring_;
    std::uint32_t index_ = 0;
    std::uint64_t slots_offset_ = 0;
    std::uint64_t order_offset_ = 0;
    std::uint32_t max_wr_ = 0;
    std::unique_ptr<std::uint64_t[]> ids_;
    std::atomic<bool> limit_armed_{false};
    support::SpinLock lock_;
    std::vector<std::uint32_t> free_ GUARDED_BY(lock_);
    std::uint32_t posted_ GUARDED_BY(lock_) = 0;
    std::set<class QueuePair*> attached_ GUARDED_BY(lock_);
};

}  // namespace softverbs
