// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues. The owner posts slots into an order; requesters take them by
/// compare-and-swap on the slot's own word, which then says for which queue pair, so that a slot
/// taken by a requester that died is found and flushed. A queue grows by further slots and a longer
/// order, while requesters are at work; it shrinks by permitting fewer receives.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// Takes the oldest receive for the queue pair `qp_num` of the ring's owner. Any process.
/// @return the slot, nullptr when none is posted. Sets `index` to its number, and `limit_reached`
/// for the one that meets the limit.
ReceiveSlot* take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 std::uint32_t& index, bool& limit_reached);

/// The requester that crosses the limit disarms it; the owner's service thread tells the user.
bool crosses_srq_limit(SrqHeader& header, std::uint32_t left);

struct DatagramSlot;

class SharedReceiveQueue : public ibv_srq {
  public:
    static SharedReceiveQueue& of(ibv_srq* srq) { return *static_cast<SharedReceiveQueue*>(srq); }
    static SharedReceiveQueue* create(ProtectionDomain& pd, ibv_srq_init_attr& attributes);
    static int destroy(SharedReceiveQueue* srq);

    int post(ibv_recv_wr* wr, ibv_recv_wr** bad) EXCLUDES(lock_);
    /// IBV_SRQ_MAX_WR: EINVAL when more are outstanding, or fewer than the limit; IBV_SRQ_LIMIT.
    /// Both are checked before either is done. @return 0 or an errno.
    int modify(const ibv_srq_attr& attributes, int mask) EXCLUDES(resize_mutex_, lock_);
    void query(ibv_srq_attr& attributes) EXCLUDES(lock_);

    /// @return the id of the receive that stands in the slot; nullptr when none does, which a peer
    /// may pretend.
    const std::uint64_t* posted_id(std::uint32_t slot) const;
    /// poll_cq has seen the slot's completion.
    void free_slot(std::uint32_t slot) EXCLUDES(lock_);
    /// The slot was taken for a queue pair whose requester died before it completed the receive.
    void put_back(std::uint32_t slot) EXCLUDES(lock_);
    /// The completion of the slot's receive waits in a completion queue.
    void note_completed(std::uint32_t slot);
    /// Visits the slots that were taken for a queue pair and are not freed.
    /// @param visit (slot, whether note_completed() has said so of it).
    void each_taken(std::uint32_t qp_num, const std::function<void(std::uint32_t, bool)>& visit);
    /// Makes a place for a whole message beside each slot, and keeps it so: datagram queue pairs
    /// take receives here. @return 0 or ENOMEM.
    int hold_messages() EXCLUDES(resize_mutex_);
    /// Where their requesters find the places (QpEntry::ring_offset).
    std::uint64_t message_table() const { return message_table_; }
    /// @return nullptr where there is no such slot, which a peer may pretend.
    const DatagramSlot* message(std::uint32_t slot) const;
    void attach(class QueuePair* qp) EXCLUDES(lock_);
    void detach(class QueuePair* qp) EXCLUDES(lock_);
    /// Service thread: the limit was reached.
    void serve_kick();

    std::uint32_t index() const { return index_; }
    const ReceiveRing& ring() const { return ring_; }
    Adapter& adapter() const { return *Context::of(context).adapter; }

  private:
    struct SlotRecord {
        std::uint64_t wr_id = 0;
        std::atomic<bool> is_posted{false};  ///< or taken, and its completion not polled
        std::atomic<bool> completes{false};  ///< note_completed(), since it was posted
    };
    int allocate(std::uint32_t depth, std::uint32_t max_sge);
    int check_modify(const ibv_srq_attr& attributes, int mask) EXCLUDES(lock_);
    int resize(std::uint32_t max_wr) REQUIRES(resize_mutex_) EXCLUDES(lock_);
    int add_section() REQUIRES(resize_mutex_) EXCLUDES(lock_);
    int add_messages(SectionPlace place) REQUIRES(resize_mutex_);
    int replace_order(std::uint32_t size) REQUIRES(resize_mutex_) EXCLUDES(lock_);
    void retire_order(RingPlace before) REQUIRES(resize_mutex_) EXCLUDES(lock_);
    void release_orders();
    void set_limit(std::uint32_t limit);
    void release_memory();
    SlotRecord& record(std::uint32_t slot) const;
    void wake_requesters() EXCLUDES(lock_);
    void wake_attached() EXCLUDES(lock_);  // receive_queue.cpp
    bool post_one(const ibv_recv_wr& wr) REQUIRES(lock_);
    void offer(std::uint32_t slot) REQUIRES(lock_);

    ReceiveRing ring_;
    std::uint32_t index_ = 0;
    /// Our own copy of SrqHeader::sections, and what we keep about the slots there.
    std::atomic<std::uint64_t> sections_[kMaxSrqSections]{};
    std::unique_ptr<SlotRecord[]> records_[kMaxSrqSections];
    std::uint64_t message_table_ = 0;  ///< 0: there are no datagram queue pairs. resize_mutex_
    std::atomic<std::uint64_t> messages_[kMaxSrqSections]{};  ///< our own copy of the table
    std::atomic<std::uint32_t> num_slots_{0};
    std::atomic<bool> limit_armed_{false};
    support::Mutex resize_mutex_;  ///< outermost
    support::SpinLock lock_;
    std::vector<RingPlace> retired_orders_;  ///< resize_mutex_, or nobody else is there any more
    std::uint32_t max_wr_ GUARDED_BY(lock_) = 0;
    RingPlace order_place_ GUARDED_BY(lock_);
    std::atomic<std::uint32_t>* order_ GUARDED_BY(lock_) = nullptr;
    std::vector<std::uint32_t> free_ GUARDED_BY(lock_);
    std::uint32_t posted_ GUARDED_BY(lock_) = 0;
    using QueuePairs = std::set<class QueuePair*>;
    QueuePairs attached_ GUARDED_BY(lock_);
};

}  // namespace softverbs
