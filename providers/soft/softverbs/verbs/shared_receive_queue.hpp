// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues. The owner posts slots into an order; requesters take them by
/// compare-and-swap on the slot's own word, which then names the queue pair it was taken for, so
/// that a slot taken by a requester that died is found and flushed. A queue grows by adding slots
/// and a longer order, while requesters are at work; it shrinks by permitting fewer receives.
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

/// Takes the oldest receive for the queue pair `qp_num` of the ring's owner. Any process may call
/// it. Sets `index` to the slot's number, and `limit_reached` to whether this call crossed the
/// limit.
/// @return the slot, nullptr when none is posted.
ReceiveSlot* take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 std::uint32_t& index, bool& limit_reached);

/// Disarms the limit if fewer receives than that are left; the owner's service thread reports the
/// event.
/// @return whether this call disarmed it.
bool crosses_srq_limit(SrqHeader& header, std::uint32_t left);

class CompletionQueue;
struct DatagramSlot;
struct OpenXrcDomain;
class XrcDomain;

/// An XRC queue belongs to these besides its protection domain; nullptr for a plain queue.
struct XrcPlace {
    OpenXrcDomain* xrcd = nullptr;
    CompletionQueue* completions = nullptr;
};

class SharedReceiveQueue : public ibv_srq {
  public:
    static SharedReceiveQueue& of(ibv_srq* srq) { return *static_cast<SharedReceiveQueue*>(srq); }
    static SharedReceiveQueue* create(ProtectionDomain& pd, void* srq_context,
                                      ibv_srq_attr& attributes, const XrcPlace& xrc = {});
    /// @return 0 or an errno: EBUSY while queue pairs use it, or a requester is in the middle of a
    /// delivery. In the latter case no other request gets in any more, and a later call destroys
    /// it.
    static int destroy(SharedReceiveQueue* srq);

    int post(ibv_recv_wr* wr, ibv_recv_wr** bad) EXCLUDES(lock_);
    /// Applies IBV_SRQ_MAX_WR and IBV_SRQ_LIMIT; both are checked before either is applied.
    /// @return 0 or an errno: EINVAL when more receives than the new size are outstanding, or when
    /// the limit exceeds the size.
    int modify(const ibv_srq_attr& attributes, int mask) EXCLUDES(resize_mutex_, lock_);
    void query(ibv_srq_attr& attributes) EXCLUDES(lock_);

    /// @return the wr_id of the receive in the slot; nullptr when none is posted there, as a peer
    /// may name any slot.
    const std::uint64_t* posted_id(std::uint32_t slot) const;
    /// Frees a slot whose completion poll_cq has seen.
    void free_slot(std::uint32_t slot) EXCLUDES(lock_);
    /// Posts a slot again that was taken by a requester that died before it completed the receive.
    void put_back(std::uint32_t slot) EXCLUDES(lock_);
    /// Notes that the completion of the slot's receive waits in a completion queue.
    void note_completed(std::uint32_t slot);
    /// Visits the slots that were taken for a queue pair and are not freed.
    /// @param visit (slot, whether note_completed() was called for it).
    void each_taken(std::uint32_t qp_num, const std::function<void(std::uint32_t, bool)>& visit);
    /// Allocates a place for a whole message beside each slot, and for each slot added later:
    /// datagram queue pairs take receives here.
    /// @return 0 or ENOMEM.
    int hold_messages() EXCLUDES(resize_mutex_);
    /// @return arena offset of the table in which their requesters find the places
    /// (QpEntry::ring_offset).
    std::uint64_t message_table() const { return message_table_; }
    /// @return nullptr when there is no such slot, as a peer may name any.
    const DatagramSlot* message(std::uint32_t slot) const;
    using QueuePairs = std::set<class QueuePair*>;
    void attach(QueuePairs::node_type&& made) EXCLUDES(lock_);
    /// @return the element, to be freed after all locks are released.
    [[nodiscard]] QueuePairs::node_type detach(class QueuePair* qp) EXCLUDES(lock_);
    /// Reports that the limit was reached. Called by the service thread.
    void serve_kick();
    /// Orders the caller after the threads of this process that posted receives.
    void order_after_posts() const { (void)ring_.shared->posted.load(std::memory_order_acquire); }

    // -- xrc_receive_queue.cpp, for XRC queues
    bool is_xrc() const { return xrc_.xrcd != nullptr; }
    std::uint32_t number() const { return number_; }  ///< 0 for a plain queue
    XrcDomain* domain() const;                        ///< nullptr for a plain queue
    bool completes_in(const CompletionQueue& cq) const { return xrc_.completions == &cq; }
    /// As QueuePair::finish_receive() and deliver_payload().
    bool finish_receive(const CqEntry& entry, ibv_wc& wc);
    int deliver_payload(const CqEntry& entry) const;
    /// Completes with an error what was taken for a queue pair, whose requester has left, and has
    /// no completion.
    void flush_taken(std::uint32_t qp_num);
    /// Posts it again instead.
    void put_back_taken(std::uint32_t qp_num);

    std::uint32_t index() const { return index_; }
    const ReceiveRing& ring() const { return ring_; }
    Adapter& adapter() const { return *Context::of(context).adapter; }

  private:
    struct SlotRecord {
        std::uint64_t wr_id = 0;
        std::atomic<bool> is_posted{false};  ///< or taken, with its completion not polled yet
        std::atomic<bool> completes{false};  ///< note_completed() was called since it was posted
    };
    int allocate(std::uint32_t depth, std::uint32_t max_sge);
    void withdraw();
    // -- xrc_receive_queue.cpp
    using Queues = std::set<SharedReceiveQueue*>;  // as the domain's
    int join(const XrcPlace& place, Queues::node_type&& made);
    int leave();
    void publish() const;
    void each_unfinished(std::uint32_t qp_num, const std::function<void(std::uint32_t)>& visit);
    void post_flushed(std::uint32_t qp_num, std::uint32_t slot) const;
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
    XrcPlace xrc_;
    std::uint32_t number_ = 0;
    bool is_closed_ = false;  ///< requesters do not find it any more
    /// Our own copy of SrqHeader::sections, and a record of each slot there.
    std::atomic<std::uint64_t> sections_[kMaxSrqSections]{};
    std::unique_ptr<SlotRecord[]> records_[kMaxSrqSections];
    std::uint64_t message_table_ = 0;  ///< 0: no datagram queue pairs. Set under resize_mutex_
    std::atomic<std::uint64_t> messages_[kMaxSrqSections]{};  ///< our own copy of the table
    std::atomic<std::uint32_t> num_slots_{0};
    std::atomic<bool> limit_armed_{false};
    support::Mutex resize_mutex_;  ///< the outermost lock
    support::SpinLock lock_;
    std::vector<RingPlace> retired_orders_;  ///< guarded by resize_mutex_, except at destruction
    std::uint32_t max_wr_ GUARDED_BY(lock_) = 0;
    RingPlace order_place_ GUARDED_BY(lock_);
    std::atomic<std::uint32_t>* order_ GUARDED_BY(lock_) = nullptr;
    std::vector<std::uint32_t> free_ GUARDED_BY(lock_);
    std::uint32_t posted_ GUARDED_BY(lock_) = 0;
    QueuePairs attached_ GUARDED_BY(lock_);
};

}  // namespace softverbs
