// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A queue pair, connected (reliable or not) or for datagrams: the private half of what its QpEntry
/// publishes. Its requests are carried out by the thread that posts them, while it holds send_lock;
/// what has to wait is queued, and the service thread goes on with it.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <memory>
#include <vector>

#include "providers/soft/softverbs/failure.hpp"
#include "providers/soft/softverbs/verbs/address_handle.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/extended.hpp"
#include "providers/soft/softverbs/verbs/own_pages.hpp"
#include "providers/soft/softverbs/verbs/placement.hpp"
#include "providers/soft/softverbs/verbs/send_builder.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A send request, the caller's or a queued copy of it.
struct SendWork {
    std::uint64_t wr_id = 0;
    ibv_wr_opcode opcode = IBV_WR_SEND;
    unsigned flags = 0;
    std::uint32_t imm_data = 0;     ///< or the key to invalidate
    std::uint64_t remote_addr = 0;  ///< a bind: where the window begins; a datagram: QP number
    std::uint32_t rkey = 0;         ///< a bind: the window's new key; a datagram: Q_Key
    std::uint32_t bind_region = 0;  ///< key of the region
    std::uint32_t bind_access = 0;  ///< IBV_ACCESS_* bits
    std::uint64_t bind_length = 0;  ///< 0: unbind
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    const Segment* segments = nullptr;
    std::uint32_t num_segments = 0;
    std::uint64_t length = 0;                ///< sum of the segments
    std::uint32_t position = 0;              ///< in the send queue, counts up
    const AddressVector* address = nullptr;  ///< a datagram's

    bool is_local() const { return opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV; }
    bool is_inline() const { return (flags & IBV_SEND_INLINE) != 0; }
    bool brings_data() const;
};

/// The right that a request needs at the other end; 0 of one that names no memory there.
inline std::uint32_t remote_right(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            return IBV_ACCESS_REMOTE_WRITE;
        case IBV_WR_RDMA_READ:
            return IBV_ACCESS_REMOTE_READ;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            return IBV_ACCESS_REMOTE_ATOMIC;
        default:
            return 0;
    }
}

/// Reads and atomic operations write into the requester's memory.
inline bool SendWork::brings_data() const {
    return opcode == IBV_WR_RDMA_READ || remote_right(opcode) == IBV_ACCESS_REMOTE_ATOMIC;
}

/// What became of an attempt to carry out a request.
enum class Progress {
    kDone,        ///< `status` is its completion status
    kNoReceive,   ///< the peer has posted no receive
    kNotReady,    ///< the peer's queue pair is not in RTR yet
    kAgent,       ///< the peer's service thread is copying
    kLocked,      ///< others carry out atomic operations there
    kNoAnswer,    ///< the peer, or its queue pair, is gone
    kUnresolved,  ///< a datagram's destination is being looked for
};

/// An adapter finds out that its peer is gone by retrying. Programs rely on the time this takes:
/// they end while their partner's last message waits for its acknowledgement, and the other end
/// still polls what it was sent before its receives are flushed. Here it is known at once, and told
/// after this time, or the queue pair's own time-out if that is shorter.
inline constexpr std::chrono::milliseconds kLongestSilence{300};

struct Outcome {
    Progress progress;
    ibv_wc_status status;
};
inline Outcome done(ibv_wc_status status) {
    return {Progress::kDone, status};
}

struct AgentMessage;
struct AgentOperation;
class DatagramSender;
struct DatagramSlot;

class QueuePair : public ExtendableQp {
  public:
    static QueuePair& of(ibv_qp* qp) { return *static_cast<QueuePair*>(qp); }

    // -- queue_pair.cpp
    /// @return nullptr with errno.
    static QueuePair* create(ProtectionDomain& pd, ibv_qp_init_attr& attributes);
    /// @return 0, or EBUSY while its requester is in the middle of a transfer: nobody else gets in
    /// any more, and a later call destroys it.
    static int destroy(QueuePair* qp);
    ~QueuePair();

    // -- queue_pair_state.cpp
    int modify(const ibv_qp_attr& attributes, int mask) EXCLUDES(send_lock_, receive_lock_);
    void query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) EXCLUDES(send_lock_);

    // -- send_queue.cpp
    int post_send(ibv_send_wr* wr, ibv_send_wr** bad) EXCLUDES(send_lock_, receive_lock_);
    /// All of them or, with an errno, none.
    int post_all(ibv_send_wr* first) EXCLUDES(send_lock_, receive_lock_);
    /// ibv_bind_mw. @return 0 or an errno.
    int bind(ibv_mw& window, const ibv_mw_bind& request) EXCLUDES(send_lock_, receive_lock_);
    /// Called by poll_cq, with the completion queue's lock held.
    void finish_send(std::uint32_t position) {
        send_completed_.store(position + 1, std::memory_order_release);
    }
    /// Called by the service thread, with the adapter's mutex held: the wait that began with this
    /// ticket has lasted too long.
    void wait_expired(std::uint32_t ticket);
    /// The same: the peer's service thread has done its part of the request at the head.
    void agent_replied(const AgentMessage& answer, const Peer& peer);
    /// Before the end: an adapter would have sent a message at once, whose destination is still
    /// being looked for here, and programs end their queue pair right after the last one.
    void finish_search() EXCLUDES(send_lock_);

    // -- receive_queue.cpp
    int post_receive(ibv_recv_wr* wr, ibv_recv_wr** bad) EXCLUDES(receive_lock_);
    /// Called by poll_cq, with the completion queue's lock held: places the payload, frees the
    /// slot. @return false when the entry makes no sense, such as a receive that was not posted.
    bool finish_receive(const CqEntry& entry, ibv_wc& wc);
    /// Copies the payload of a completed receive, if one waits, to the posted buffer, unless its
    /// registration has ended. @return 0, or EFAULT: the program has unmapped or protected the
    /// buffer.
    int deliver_payload(const CqEntry& entry);
    int deliver_payload(const CqEntry& entry, std::uint32_t position);
    /// Whether a receive stands there that has no completion yet. Of a peer's entry.
    bool is_posted(std::uint32_t position) const;
    /// Orders the caller behind our threads that posted the receive that is next.
    void order_after_receives() const;
    /// Makes a requester go on that waits for a receive.
    void wake_requester();

    // -- datagram_receive.cpp
    /// A datagram queue pair asked for it (DatagramTargets).
    void destination_found(std::uint32_t number, Result<Target> found);

    // -- placement_watch.cpp
    /// Called by the service thread: whether what it has sent in the receiver's queues is still to
    /// be looked after (PlacementWatch). Makes the receiver's service thread place what it has not
    /// polled for long.
    bool look_after_placement();
    QueuePair* next_watched = nullptr;  ///< of PlacementWatch

    // -- flush.cpp. The first five are called by the service thread, with the adapter's mutex held.
    /// The peer asked for attention: a receive was posted, it became ready, or it found a fault.
    void serve_kick();
    /// A completion with an error has been polled from its receive queue.
    void receive_failed() EXCLUDES(send_lock_, receive_lock_);
    bool peer_died(const Peer& peer);
    void give_up_peer(const Peer& peer);
    /// A completion queue or the device broke.
    void fail(ibv_event_type event);
    /// Why it failed, or its peer's process ended. @return false where neither has happened.
    bool failure(verbs::QueuePairFailure& failure) EXCLUDES(send_lock_);
    /// Waits until the request that its requester is at, if any, has ended, or the requester has.
    /// @return false at the deadline.
    bool requester_is_done(Deadline deadline) const;

    // -- extended_send.cpp
    /// For ibv_qp_to_qp_ex, before anybody else knows the queue pair. @return 0 or ENOMEM.
    int make_extended();
    /// @return nullptr unless it was made with send operations that are built one by one.
    SendBuilder* builder() const { return builder_.get(); }

    Adapter& adapter() const { return adapter_; }
    ProtectionDomain& domain() const { return ProtectionDomain::of(pd); }
    CompletionQueue& send_queue() const { return CompletionQueue::of(send_cq); }
    CompletionQueue& receive_queue() const { return CompletionQueue::of(recv_cq); }
    SharedReceiveQueue* shared_queue() const { return static_cast<SharedReceiveQueue*>(srq); }
    QpEntry& entry() const { return *entry_; }
    /// In our arena: place for a short message or a datagram that the kernel reads or writes for
    /// us.
    std::uint64_t staging() const { return staging_; }
    /// Whether its requests are acknowledged: what the peer does not take, else, is lost.
    bool is_reliable() const { return qp_type == IBV_QPT_RC; }
    std::uint32_t index() const { return index_; }

  private:
    friend class Executor;
    friend class DatagramSender;

    // -- queue_pair.cpp
    explicit QueuePair(ProtectionDomain& pd);
    int set_up(const ibv_qp_init_attr& attributes);
    int allocate_receives();
    int allocate_sends();
    void release_memory();
    int publish(std::uint32_t qp_num);
    int enlist() REQUIRES(adapter_.mutex);
    void tear_down() EXCLUDES(send_lock_, receive_lock_);
    std::uint32_t staging_bytes() const;

    // -- queue_pair_state.cpp
    int check_modify(ibv_qp_state next, const ibv_qp_attr& attributes, int mask) const;
    void apply(ibv_qp_state next, const ibv_qp_attr& attributes, int mask) REQUIRES(send_lock_);
    void connect(Target target, const ibv_qp_attr& attributes) REQUIRES(send_lock_);
    void reset() REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void tell_when_drained() REQUIRES(send_lock_);
    void remember(const ibv_qp_attr& attributes, int mask) REQUIRES(send_lock_);
    void set_state(ibv_qp_state next) REQUIRES(send_lock_);

    // -- send_queue.cpp
    int check(const ibv_send_wr& wr) const REQUIRES(send_lock_);
    void submit(const SendWork& work) REQUIRES(send_lock_);
    void enqueue(const SendWork& work) REQUIRES(send_lock_);
    SendWork& queued(std::uint32_t position) REQUIRES(send_lock_);
    Outcome try_to_carry_out(const SendWork& work) REQUIRES(send_lock_);
    Outcome carry_out(const SendWork& work) REQUIRES(send_lock_);
    /// The request has been carried out, or has failed.
    void conclude(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_)
        EXCLUDES(receive_lock_);
    void complete(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_);
    void drain() REQUIRES(send_lock_);
    void begin_wait(Progress reason) REQUIRES(send_lock_);
    /// The service thread calls `call(*this)` then; without memory for that it looks at the queue
    /// pair at once, and comes here again.
    template <class Call>
    void come_back(Deadline when, const Call& call) REQUIRES(send_lock_);
    bool is_signalled(const SendWork& work) const {
        return signal_all_ || (work.flags & IBV_SEND_SIGNALED) != 0;
    }

    /// A peer that copies for us has a buffer of the queue pair's: it must not be used for
    /// something else before. Without locks that the service thread wants.
    void await_agent() EXCLUDES(send_lock_);
    Deadline wait_deadline(Progress reason, bool& endless) const REQUIRES(send_lock_);

    // -- datagram_receive.cpp; of a datagram queue pair
    /// @return nullptr where a shared receive queue has no such slot.
    const DatagramSlot* datagram_slot(std::uint32_t position) const;
    void describe_datagram(std::uint32_t position, ibv_wc& wc) const;
    int deliver_datagram(const CqEntry& entry, std::uint32_t position);
    /// Where the requester's process has ended. Does nothing for other types.
    void end_orphaned_turn() EXCLUDES(receive_lock_);
    void end_turn(std::uint32_t holder) EXCLUDES(receive_lock_);
    void settle_ring() REQUIRES(receive_lock_);
    void settle_shared(SharedReceiveQueue& shared);
    bool datagram_peer_died(const Peer& peer) REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    /// In the arena: the ring of receives and what follows it.
    std::uint64_t receive_bytes() const;

    // -- flush.cpp
    /// Keeps requesters out, and waits for the one that is in. Without locks.
    /// @return 0, or EBUSY when it is still at work.
    int close_to_requesters() EXCLUDES(send_lock_, receive_lock_);
    /// Completes the request with an error and flushes all behind it.
    void fail_request(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_)
        EXCLUDES(receive_lock_);
    void enter_error(ibv_wc_status head_status) REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    bool finish_withdrawal() REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void begin_error() REQUIRES(send_lock_);
    void note_failure(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_);
    void note_refusal(Fault fault) REQUIRES(send_lock_);
    std::uint32_t receive_pd() const;
    void finish_error() REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void lose_sends() REQUIRES(send_lock_);
    void flush_sends(ibv_wc_status head_status) REQUIRES(send_lock_);
    void flush_receives() EXCLUDES(receive_lock_);
    void post_flushed_receive(std::uint32_t slot);
    void report(ibv_event_type event);

    // -- receive_queue.cpp
    /// Where a payload goes.
    struct Places {
        LocalRange ranges[kMaxSge];
        std::uint32_t count = 0;
        bool all_here = true;
    };
    bool add_place(Places& places, const Segment& segment, std::uint32_t skipped,
                   std::uint32_t length) const;
    int fill_places(const Places& places, const std::uint8_t* data) const;

    // -- placement_watch.cpp
    /// A short message stands in the receiver's queue, at this position. For whoever carries out a
    /// request of ours, under send_lock_, which the analysis cannot know.
    void note_unplaced(std::uint64_t position) NO_THREAD_SAFETY_ANALYSIS {
        note_unplaced(position, unplaced_);
    }
    void note_unplaced(std::uint64_t position, Unplaced& unplaced) NO_THREAD_SAFETY_ANALYSIS {
        unplaced.end = position + 1;
        if (!is_watched_) [[unlikely]]
            watch_placement();
    }
    void watch_placement() REQUIRES(send_lock_);
    /// Before a reset: what has been sent reaches the receivers' buffers all the same.
    void leave_placement() REQUIRES(send_lock_);
    /// With the adapter's mutex, before the end.
    void end_watch();

    Adapter& adapter_;
    QpEntry* entry_ = nullptr;
    std::uint32_t index_ = 0;
    ibv_qp_cap cap_{};
    bool signal_all_ = false;

    support::SpinLock send_lock_;
    std::atomic<ibv_qp_state> state_{IBV_QPS_RESET};
    ibv_qp_attr attributes_ GUARDED_BY(send_lock_){};
    Target target_ GUARDED_BY(send_lock_);
    /// Whether a transfer is marked by a locked instruction (barrier.hpp).
    bool is_fenced_ GUARDED_BY(send_lock_) = false;
    bool awaits_requester_ GUARDED_BY(send_lock_) = false;  ///< to flush receives: finish_error()
    /// The peer at the other end as seen by threads that do not hold send_lock_; a leaf lock.
    mutable support::SpinLock requester_lock_;
    const Target* requester_ GUARDED_BY(requester_lock_) = nullptr;
    /// Positions: completed <= pending <= posted. Between completed and pending: carried out.
    std::uint32_t send_posted_ GUARDED_BY(send_lock_) = 0;
    std::uint32_t send_pending_ GUARDED_BY(send_lock_) = 0;
    std::atomic<std::uint32_t> send_completed_{0};
    OwnPages send_slots_;  ///< for requests that have to wait
    std::uint32_t send_slot_stride_ = 0;
    std::uint32_t wait_ticket_ GUARDED_BY(send_lock_) = 0;
    bool tells_drained_ GUARDED_BY(send_lock_) = false;  ///< when what has begun has ended
    Progress waiting_for_ GUARDED_BY(send_lock_) = Progress::kDone;
    Deadline locked_until_ GUARDED_BY(send_lock_){};  ///< kLocked is an error from then on
    std::unique_ptr<AgentOperation> agent_ GUARDED_BY(send_lock_);
    std::unique_ptr<DatagramSender> datagrams_ GUARDED_BY(send_lock_);

    /// The first since it was made or reset; later ones follow from it.
    verbs::QueuePairFailure failure_ GUARDED_BY(send_lock_){};

    std::uint64_t staging_ = 0;
    Unplaced unplaced_ GUARDED_BY(send_lock_);  ///< of a connected queue pair
    bool is_watched_ GUARDED_BY(send_lock_) = false;
    std::uint64_t agent_buffer_ = 0;  ///< what is left of agent_ when the queue pair goes

    std::unique_ptr<SendBuilder> builder_;

    support::SpinLock receive_lock_;
    ReceiveRing receives_;
    std::uint64_t receive_offset_ = 0;
    std::unique_ptr<std::uint64_t[]> receive_ids_;
    std::atomic<std::uint32_t> receive_posted_{0};  ///< written with receive_lock_
    std::uint32_t receive_flushed_ GUARDED_BY(receive_lock_) = 0;
    std::atomic<std::uint32_t> receive_completed_{0};
    /// In the error state, once those posted before it are flushed: from then on at the post.
    bool receives_are_flushed_ GUARDED_BY(receive_lock_) = false;
    bool last_wqe_told_ GUARDED_BY(receive_lock_) = false;
};

template <class Call>
void QueuePair::come_back(Deadline when, const Call& call) {
    const CancellationDisabled guard;
    Adapter* const adapter = &adapter_;
    const std::uint32_t number = qp_num;
    const auto start = [&] {
        adapter->process().service().at(when, [adapter, number, call] {
            support::MutexLock lock(adapter->mutex);
            if (QueuePair* qp = adapter->find_qp(number)) call(*qp);
        });
    };
    if (Service::persist(start)) return;
    ArenaHeader& header = adapter->view().header();
    set_kick(header.qp_kicks, header.qp_kick_summary, index());
    adapter->process().self()->ring_doorbell();
}

}  // namespace softverbs
