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

#include "dapl/support/mutex.hpp"
#include "providers/soft/verbs/address_handle.hpp"
#include "providers/soft/verbs/completion_queue.hpp"
#include "providers/soft/verbs/context.hpp"
#include "providers/soft/verbs/extended.hpp"
#include "providers/soft/verbs/own_pages.hpp"
#include "providers/soft/verbs/send_builder.hpp"
#include "providers/soft/verbs/shared_receive_queue.hpp"
#include "providers/soft/verbs/target.hpp"

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
};

/// What became of an attempt to carry out a request.
enum class Progress {
    kDone,        ///< `status` is its completion status
    kNoReceive,   ///< the peer has posted no receive
    kNotReady,    ///< the peer's queue pair is not in RTR yet
    kPaused,      ///< the peer exchanges pages
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

/// A requester that is at work so long has been stopped, or pretends: a request of megabytes takes
/// milliseconds.
inline constexpr std::chrono::seconds kRequesterPatience{5};
/// A peer that exchanges pages for longer has been stopped.
inline constexpr std::chrono::seconds kLongestPause{30};

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
    /// @return nullptr with errno.
    static QueuePair* create(ProtectionDomain& pd, ibv_qp_init_attr& attributes);
    static int destroy(QueuePair* qp);
    ~QueuePair();

    int modify(const ibv_qp_attr& attributes, int mask) EXCLUDES(send_lock_, receive_lock_);
    void query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) EXCLUDES(send_lock_);
    int post_send(ibv_send_wr* wr, ibv_send_wr** bad) EXCLUDES(send_lock_, receive_lock_);
    /// All of them or, with an errno, none.
    int post_all(ibv_send_wr* first) EXCLUDES(send_lock_, receive_lock_);
    /// ibv_bind_mw. @return 0 or an errno.
    int bind(ibv_mw& window, const ibv_mw_bind& request) EXCLUDES(send_lock_, receive_lock_);
    int post_receive(ibv_recv_wr* wr, ibv_recv_wr** bad) EXCLUDES(receive_lock_);

    // -- called by poll_cq, with the completion queue's lock held
    /// Places the payload, frees the slot. @return false when the entry makes no sense.
    bool finish_receive(const CqEntry& entry, ibv_wc& wc);
    /// Copies the payload of a completed receive out of its slot.
    void deliver_payload(const CqEntry& entry);
    void finish_send(std::uint32_t position) {
        send_completed_.store(position + 1, std::memory_order_release);
    }

    // -- called by the service thread, with the adapter's mutex held
    /// The peer asked for attention: a receive was posted, it became ready, or it found a fault.
    void serve_kick();
    bool peer_died(const Peer& peer);
    void give_up_peer(const Peer& peer);
    /// A completion queue or the device broke.
    void fail(ibv_event_type event);
    /// The wait that began with this ticket has lasted too long.
    void wait_expired(std::uint32_t ticket);
    /// Before the end: an adapter would have sent a message at once, whose destination is still
    /// being looked for here, and programs end their queue pair right after the last one.
    void finish_search() EXCLUDES(send_lock_);
    /// A datagram queue pair asked for it (DatagramTargets).
    void destination_found(std::uint32_t number, Result<Target> found);
    /// The peer's service thread has done its part of the request at the head.
    void agent_replied(const AgentMessage& answer, const Peer& peer);

    /// From now on a write that the peer's service thread is to place is complete when that has got
    /// all of it: placed before whatever follows, but not yet. Of a queue pair with an owner who
    /// can ask for more.
    void complete_early() EXCLUDES(send_lock_) {
        support::SpinLockGuard lock(send_lock_);
        completes_early_ = true;
    }

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
    /// Whether its requests are acknowledged: what the peer does not take, else, is lost.
    bool is_reliable() const { return qp_type == IBV_QPT_RC; }
    std::uint32_t index() const { return index_; }
    /// Whether a thread of ours is carrying out a request.
    bool executing() const { return executing_.load(std::memory_order_seq_cst); }
    /// Waits until a request that its requester has begun here has ended, or the requester has. One
    /// that takes seconds for it is cut off.
    void wait_for_requester() const EXCLUDES(requester_lock_);
    /// Waits until whoever began before now to put a completion into one of its queues has done so:
    /// its requester, and our own threads.
    void wait_for_producers() EXCLUDES(send_lock_, receive_lock_);
    /// What threads of ours did before they posted the receive that is next is seen by whoever
    /// calls this.
    void order_after_receives() const;
    /// Keeps the requester out, who waits to be woken, while pages are exchanged.
    void pause() { entry_->paused.store(1, std::memory_order_seq_cst); }
    void resume() {
        entry_->paused.store(0, std::memory_order_seq_cst);
        wake_requester();
    }
    /// Whether neither its requester nor the service thread is carrying out a request.
    bool is_at_rest() const { return !requester_busy() && !executing(); }
    /// Makes a requester go on that waits for a receive.
    void wake_requester();

  private:
    friend class Executor;
    bool requester_busy() const EXCLUDES(requester_lock_);
    bool requester_at_work(std::uint32_t begun) const EXCLUDES(requester_lock_);
    bool requester_gone(std::uint32_t begun) const EXCLUDES(requester_lock_);
    std::shared_ptr<Peer> requester(std::uint32_t begun) const EXCLUDES(requester_lock_);
    explicit QueuePair(ProtectionDomain& pd);
    int set_up(const ibv_qp_init_attr& attributes);
    int allocate_receives();
    int allocate_sends();
    int publish(std::uint32_t qp_num);
    void tear_down() EXCLUDES(send_lock_, receive_lock_);

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
    Outcome carry_out(const SendWork& work) REQUIRES(send_lock_);
    void complete(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_);
    void drain() REQUIRES(send_lock_);
    void begin_wait(Progress reason) REQUIRES(send_lock_);
    bool is_signalled(const SendWork& work) const {
        return signal_all_ || (work.flags & IBV_SEND_SIGNALED) != 0;
    }

    // -- hand_over.cpp
    /// The peer's service thread has got another chunk of the request at the head.
    void hand_over() REQUIRES(send_lock_);
    bool is_handed_over() const REQUIRES(send_lock_);
    /// The same request, once its end is known. @param status 0 or an errno.
    void conclude_handed_over(int status) REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void await_handed_over() EXCLUDES(send_lock_);
    Deadline wait_deadline(Progress reason, bool& endless) const REQUIRES(send_lock_);

    // -- datagram_receive.cpp; of a datagram queue pair
    const DatagramSlot& datagram_slot(std::uint32_t position) const;
    void describe_datagram(const CqEntry& entry, ibv_wc& wc) const;
    void deliver_datagram(const CqEntry& entry);
    /// Where the requester's process has ended. Does nothing for other types.
    void end_orphaned_turn() EXCLUDES(receive_lock_);
    void end_turn(std::uint32_t holder) EXCLUDES(receive_lock_);
    bool datagram_peer_died(const Peer& peer) REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    /// In the arena: the ring of receives and what follows it.
    std::uint64_t receive_bytes() const;

    // -- flush.cpp
    /// A request has failed: all behind it are flushed.
    void request_failed() REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void enter_error(ibv_wc_status head_status) REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void quiesce() REQUIRES(send_lock_);
    void lose_sends() REQUIRES(send_lock_);
    void flush_sends(ibv_wc_status head_status) REQUIRES(send_lock_);
    void flush_receives() EXCLUDES(receive_lock_);
    void post_flushed_receive(std::uint32_t slot);
    void report(ibv_event_type event);

    Adapter& adapter_;
    QpEntry* entry_ = nullptr;
    std::uint32_t index_ = 0;
    ibv_qp_cap cap_{};
    bool signal_all_ = false;

    support::SpinLock send_lock_;
    std::atomic<ibv_qp_state> state_{IBV_QPS_RESET};
    std::atomic<bool> executing_{false};
    ibv_qp_attr attributes_ GUARDED_BY(send_lock_){};
    Target target_ GUARDED_BY(send_lock_);
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
    bool completes_early_ GUARDED_BY(send_lock_) = false;
    std::unique_ptr<DatagramSender> datagrams_ GUARDED_BY(send_lock_);

    std::uint64_t agent_buffer_ = 0;  ///< what is left of agent_ when the queue pair goes

    std::unique_ptr<SendBuilder> builder_;

    support::SpinLock receive_lock_;
    ReceiveRing receives_;
    std::uint64_t receive_offset_ = 0;
    std::unique_ptr<std::uint64_t[]> receive_ids_;
    std::uint32_t receive_posted_ GUARDED_BY(receive_lock_) = 0;
    std::uint32_t receive_flushed_ GUARDED_BY(receive_lock_) = 0;
    std::atomic<std::uint32_t> receive_completed_{0};
    /// In the error state, once those posted before it are flushed: from then on at the post.
    bool receives_are_flushed_ GUARDED_BY(receive_lock_) = false;
    bool last_wqe_told_ GUARDED_BY(receive_lock_) = false;
};

}  // namespace softverbs
