// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A queue pair, connected (reliable or not) or for datagrams: the private half of what its QpEntry
/// publishes. The thread that posts a request carries it out itself, while it holds send_lock; a
/// request that has to wait is queued, and the service thread continues with it.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "providers/soft/softverbs/arena/own_pages.hpp"
#include "providers/soft/softverbs/failure.hpp"
#include "providers/soft/softverbs/faults/request_faults.hpp"
#include "providers/soft/softverbs/verbs/address_handle.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/extended.hpp"
#include "providers/soft/softverbs/verbs/placement.hpp"
#include "providers/soft/softverbs/verbs/send_builder.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A send request of the general path, the caller's or a queued copy of it. It has no initialisers,
/// since filling it with zeros takes longer than to carry out a short request. Fields that the
/// caller has just stored one by one are apart: a compiler copies neighbours by one load, which
/// then waits for both stores.
struct SendWork {
    std::uint64_t wr_id;
    ibv_wr_opcode opcode;
    std::uint32_t position;  ///< in the send queue, counts up
    unsigned flags;
    std::uint32_t num_segments;
    std::uint32_t imm_data;     ///< immediate data, or the rkey to invalidate
    std::uint32_t rkey;         ///< bind: the window's new key; datagram: Q_Key
    std::uint64_t remote_addr;  ///< bind: where the window begins; datagram: QP number
    const Segment* segments;
    std::uint64_t length;          ///< sum of the segments
    const AddressVector* address;  ///< of a datagram, else nullptr
    std::uint32_t srq_num;         ///< of an XRC request only
    struct Binding {
        std::uint32_t region;  ///< lkey of the region; 0: none
        std::uint32_t access;  ///< IBV_ACCESS_* bits
        std::uint64_t length;  ///< 0: unbind
    };
    struct Operands {
        std::uint64_t compare_add;
        std::uint64_t swap;
    };
    union {
        Binding bind;     ///< of IBV_WR_BIND_MW
        Operands atomic;  ///< of atomic operations
    };

    bool is_local() const { return opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV; }
    bool is_inline() const { return (flags & IBV_SEND_INLINE) != 0; }
    bool brings_data() const;
};

/// @return the right that a request needs at the other end; 0 if it names no memory there.
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

/// @return whether the request writes into the requester's memory, as reads and atomic operations
/// do.
inline bool SendWork::brings_data() const {
    return opcode == IBV_WR_RDMA_READ || remote_right(opcode) == IBV_ACCESS_REMOTE_ATOMIC;
}

/// The result of an attempt to carry out a request.
enum class Progress {
    kDone,        ///< `status` is its completion status
    kNoReceive,   ///< the peer has posted no receive
    kNotReady,    ///< the peer's queue pair is not in RTR yet
    kLocked,      ///< the peer's atomic lock is held, or a retired window key is in use
    kAway,        ///< the peer's memory region is away; its owner has been asked for it
    kNoAnswer,    ///< the peer, or its queue pair, is gone
    kUnresolved,  ///< a datagram's destination has not been found yet
    // From here on unreliable requests wait too.
    kAgent,    ///< the peer's service thread is copying
    kDelayed,  ///< by a fault rule
};

/// The longest time that a request to a peer that is gone waits before it fails. A hardware adapter
/// finds out by retrying that its peer is gone, and programs rely on the time this takes: they end
/// while their partner's last message waits for its acknowledgement, and the other end still polls
/// what it was sent before its receives are flushed. softverbs knows at once, but reports it only
/// after this time, or after the queue pair's own timeout if that is shorter.
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
struct OpenXrcDomain;
class XrcDomain;

inline bool is_xrc(ibv_qp_type type) {
    return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

class QueuePair : public ExtendableQp {
  public:
    static QueuePair& of(ibv_qp* qp) { return *static_cast<QueuePair*>(qp); }

    // -- queue_pair.cpp
    /// A queue pair belongs to one of these: an XRC_RECV queue pair to a domain, all others to a
    /// protection domain.
    struct Place {
        ibv_context* context;
        ibv_pd* pd;
        OpenXrcDomain* xrcd;
    };
    /// @return nullptr with errno.
    static QueuePair* create(const Place& place, ibv_qp_init_attr& attributes);
    /// @return 0 or an errno: EBUSY while it is in a multicast group, or while its requester is in
    /// the middle of a transfer. In the latter case no other request gets in any more, and a later
    /// call destroys the queue pair.
    static int destroy(QueuePair* qp);
    ~QueuePair();

    // -- queue_pair_open.cpp
    /// Makes another handle of an XRC_RECV queue pair of the domain: an object without queues,
    /// which accepts no requests.
    /// @return nullptr with errno: EINVAL when the domain has none with this number.
    static QueuePair* open(const Place& place, std::uint32_t qp_num, void* qp_context);
    /// @return the queue pair of which this object is a handle.
    QueuePair& real() { return real_ ? *real_ : *this; }
    /// Modifies real(), and keeps ibv_qp::state of this handle. As in libibverbs that is the state
    /// which the program has asked for or queried last: UCX relies on that it does not become the
    /// error state by itself.
    int modify_real(const ibv_qp_attr& attributes, int mask);
    /// Sets ibv_qp::state of this handle.
    void note_state(ibv_qp_state known);

    // -- queue_pair_state.cpp
    int modify(const ibv_qp_attr& attributes, int mask) EXCLUDES(send_lock_, receive_lock_);
    void query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) EXCLUDES(send_lock_);

    // -- send_queue.cpp
    int post_send(ibv_send_wr* wr, ibv_send_wr** bad) EXCLUDES(send_lock_, receive_lock_);
    /// Posts all requests of the list or, when it returns an errno, none.
    int post_all(ibv_send_wr* first) EXCLUDES(send_lock_, receive_lock_);
    /// ibv_bind_mw. @return 0 or an errno.
    int bind(ibv_mw& window, const ibv_mw_bind& request) EXCLUDES(send_lock_, receive_lock_);
    /// Frees the slots up to this position. Called by poll_cq, with the completion queue's lock
    /// held.
    void finish_send(std::uint32_t position) {
        send_completed_.store(position + 1, std::memory_order_release);
    }
    /// Handles the deadline of the wait that began with this ticket. Called by the service thread,
    /// with the adapter's mutex held.
    void wait_expired(std::uint32_t ticket);
    /// Handles the answer of the peer's service thread, which has done its part of the request at
    /// the head of the queue. Called like wait_expired().
    void agent_replied(const AgentMessage& answer, const Peer& peer);
    /// Waits, at most kLongestSearch, until the destination of a queued datagram has been found.
    /// Called before ibv_modify_qp moves the queue pair to RESET or ERR, and before it is
    /// destroyed: a hardware adapter would have sent the message at once, and programs destroy
    /// their queue pair right after the last one.
    void finish_search() EXCLUDES(send_lock_);

    // -- receive_queue.cpp
    int post_receive(ibv_recv_wr* wr, ibv_recv_wr** bad) EXCLUDES(receive_lock_);
    /// Places the payload and frees the slot. Called by poll_cq, with the completion queue's lock
    /// held.
    /// @return false when the entry is invalid, such as one that names a receive that was not
    /// posted.
    bool finish_receive(const CqEntry& entry, ibv_wc& wc);
    /// Copies the payload of a completed receive, if there is one in the queues, to the posted
    /// buffer, unless its registration has ended.
    /// @return 0, or EFAULT when the program has unmapped or protected the buffer.
    int deliver_payload(const CqEntry& entry);
    int deliver_payload(const CqEntry& entry, std::uint32_t position);
    /// @return whether a receive is posted at this position whose completion has not been polled.
    /// The position comes from a peer's entry and may have any value.
    bool is_posted(std::uint32_t position) const;
    /// Orders the caller after the threads of this process that posted the next receive.
    void order_after_receives() const;
    /// @return the XRC shared receive queue of the domain, to which a peer's request may deliver;
    /// nullptr when there is none with this number. The adapter's mutex is held.
    SharedReceiveQueue* xrc_queue(std::uint32_t srq_num) const;
    /// Whether receives of the queue pair may complete in this queue. The adapter's mutex is held.
    bool receives_in(const CompletionQueue& cq) const;
    /// Kicks the requester if it waits for a receive, for readiness or for a region.
    void wake_requester();
    /// Waits for a thread that is in the middle of a post. @return false if that takes long.
    bool pass_sender() const;

    // -- datagram_receive.cpp
    /// Takes the answer to a look-up by DatagramTargets, and continues with the requests that
    /// waited for it.
    void destination_found(std::uint32_t number, Result<Target> found);

    // -- multicast.cpp
    /// @return 0 or an errno. Attaching twice has no further effect.
    int attach(const union ibv_gid& mgid, std::uint16_t mlid);
    int detach(const union ibv_gid& mgid, std::uint16_t mlid);
    /// Does not receive what it sends to its own groups. Called before anybody else knows it.
    void block_own_multicast() { blocks_own_multicast_ = true; }
    /// Takes the answer to a look-up by MulticastGroups; leaves what it replaces in `found`.
    void group_found(const MulticastGroup& group, Index::Attached& found);

    // -- placement_watch.cpp
    /// Checks whether the receivers have polled the short messages sent to them, and makes the
    /// service thread of a receiver that has not done so for long place them. Called by the service
    /// thread.
    /// @return whether PlacementWatch has to check again.
    bool look_after_placement();
    QueuePair* next_watched = nullptr;  ///< link in PlacementWatch's stack

    // -- link_state.cpp
    /// Adapts to the states of the fabric's devices. Called by the service thread, with the
    /// adapter's mutex held.
    void look_at_link() EXCLUDES(send_lock_, receive_lock_);

    // -- faulted_requests.cpp
    /// Takes the fault rules that concern the queue pair now. Called when it gets its port, and by
    /// the service thread when the rules have changed.
    void look_at_faults() EXCLUDES(send_lock_, receive_lock_);
    /// Notes to which service the queue pair belongs, for fault rules.
    /// @param port the listener's.
    void set_service(std::uint16_t port) EXCLUDES(send_lock_, receive_lock_);

    // -- flush.cpp. The first five are called by the service thread, with the adapter's mutex held.
    /// Serves a peer's kick: it posted a receive, became ready, found a fault, or waits for its
    /// turn.
    void serve_kick();
    /// Fails the queue pair: a completion with an error has been polled from its receive queue.
    void receive_failed() EXCLUDES(send_lock_, receive_lock_);
    bool peer_died(const Peer& peer);
    void give_up_peer(const Peer& peer);
    /// Fails the queue pair and reports the event: a completion queue or the device broke.
    void fail(ibv_event_type event);
    /// Reports why the queue pair failed, or that its peer's process ended.
    /// @return false when neither has happened.
    bool failure(verbs::QueuePairFailure& failure) EXCLUDES(send_lock_);
    /// Waits until the request that its requester is carrying out, if any, has ended, or the
    /// requester's process has.
    /// @return false at the deadline.
    bool requester_is_done(Deadline deadline) const;

    // -- extended_send.cpp
    /// Prepares the queue pair for ibv_qp_to_qp_ex, before anybody else knows it.
    /// @return 0 or ENOMEM.
    int make_extended();
    /// @return nullptr unless the queue pair was created with send operations that are built one by
    /// one (ibv_wr_start).
    SendBuilder* builder() const { return builder_.get(); }

    Adapter& adapter() const { return adapter_; }
    ProtectionDomain& domain() const { return ProtectionDomain::of(pd); }
    CompletionQueue& send_queue() const { return CompletionQueue::of(send_cq); }
    CompletionQueue& receive_queue() const { return CompletionQueue::of(recv_cq); }
    SharedReceiveQueue* shared_queue() const { return static_cast<SharedReceiveQueue*>(srq); }
    QpEntry& entry() const { return *entry_; }
    /// @return arena offset of the buffer through which the kernel reads or writes a short message
    /// or a datagram for us.
    std::uint64_t staging() const { return staging_; }
    /// Whether its requests are acknowledged; otherwise what the peer does not take is lost.
    bool is_reliable() const { return is_reliable_; }
    /// @return 0 for an XRC_RECV queue pair, which has no protection domain.
    std::uint32_t pd_number() const { return pd ? domain().number() : 0; }
    std::uint32_t index() const { return index_; }

  private:
    friend class Executor;
    friend class DirectPost;
    friend class DatagramSender;

    // -- queue_pair.cpp
    explicit QueuePair(const Place& place);
    int close();
    // -- queue_pair_open.cpp
    using Handles = std::set<QueuePair*>;
    void add_handle(Handles::node_type&& made) EXCLUDES(handles_lock_);
    bool give_up_handle(QueuePair& one) EXCLUDES(handles_lock_);
    /// The adapter's mutex is held, which the analysis cannot know.
    bool may_be_opened(const Place& place, std::uint32_t number) const NO_THREAD_SAFETY_ANALYSIS;
    void report_to_handles(ibv_async_event event) EXCLUDES(handles_lock_);
    // -- queue_pair.cpp
    void set_capacity(const ibv_qp_cap& wanted);
    /// The elements by which others know the queue pair: made before any lock is taken, freed after
    /// all are released.
    struct Known {
        Handles::node_type shared_receives, handle, domain;
    };
    Known make_known();
    void attach(Known made);
    Known detach();
    void count_uses(int change);
    int set_up(const ibv_qp_init_attr& attributes);
    int allocate_receives();
    int allocate_sends();
    void release_memory();
    void publish(std::uint32_t qp_num);
    void enlist(Known made) REQUIRES(adapter_.mutex);
    Known tear_down() EXCLUDES(send_lock_, receive_lock_);
    std::uint32_t staging_bytes() const;

    // -- queue_pair_state.cpp
    int change(ibv_qp_state current, ibv_qp_state next, const ibv_qp_attr& attributes, int mask,
               Target target) EXCLUDES(send_lock_, receive_lock_);
    int check_modify(ibv_qp_state next, const ibv_qp_attr& attributes, int mask) const;
    void apply(ibv_qp_state next, const ibv_qp_attr& attributes, int mask) REQUIRES(send_lock_);
    void connect(Target target, const ibv_qp_attr& attributes) REQUIRES(send_lock_);
    Readiness when_connected() const;
    void reset() REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    void tell_when_drained() REQUIRES(send_lock_);
    void stop_expecting() REQUIRES(send_lock_);
    void remember(const ibv_qp_attr& attributes, int mask) REQUIRES(send_lock_);
    void set_state(ibv_qp_state next) REQUIRES(send_lock_);

    // -- link_state.cpp
    PortId port() const REQUIRES(send_lock_);
    bool is_cut() const REQUIRES(send_lock_) { return is_cut_; }
    void set_cut(bool is_cut) REQUIRES(send_lock_);
    void note_link() REQUIRES(send_lock_);
    void note_detour() REQUIRES(send_lock_);
    void stop_requesters() REQUIRES(send_lock_);
    /// Lets requesters in, if there is a link.
    void open_to_requesters() REQUIRES(send_lock_);
    void remove() REQUIRES(send_lock_) EXCLUDES(receive_lock_);

    // -- faulted_requests.cpp
    faults::RequestFaults::Place place_of(bool receives) const REQUIRES(send_lock_);
    /// @return the fault rule that applies to the request, or nullptr.
    /// @param peer to whom a datagram goes, if the rules need it.
    const faults::Rule* rule_for(const SendWork& work,
                                 const faults::Identity* peer = nullptr) NO_THREAD_SAFETY_ANALYSIS;
    /// Does the same for a request that nobody has queued yet.
    const faults::Rule* rule_for_next(const ibv_send_wr& wr) REQUIRES(send_lock_);
    /// Applies a rule that decides what becomes of the request before it reaches its target.
    /// @return nullopt when the request goes on.
    std::optional<Outcome> divert(const faults::Rule& rule) NO_THREAD_SAFETY_ANALYSIS;
    void signal_by_rule(pid_t process, int signal) NO_THREAD_SAFETY_ANALYSIS;
    void disconnect_by_rule() NO_THREAD_SAFETY_ANALYSIS;
    Outcome failed_by_rule(ibv_wc_status status) NO_THREAD_SAFETY_ANALYSIS;
    void note_rule() REQUIRES(send_lock_);
    bool is_silenced() const REQUIRES(send_lock_);
    bool is_held_by_rule() const REQUIRES(send_lock_);
    void come_back_by_rule() REQUIRES(send_lock_);
    /// @return the errno value with which a receive is refused that does not fit, or that a rule
    /// concerns; 0 if neither.
    int refuse_receive(std::uint32_t used) const REQUIRES(receive_lock_);

    // -- direct_post.cpp
    bool may_post_directly(const ibv_send_wr& wr) const REQUIRES(send_lock_);
    /// Carries out a request that the direct path fits. @return false, with nothing done, for
    /// others.
    bool post_directly(const ibv_send_wr& wr) REQUIRES(send_lock_);
    /// Does the same on a queue pair with fault rules, for a request to which none applies.
    bool post_past_rules(const ibv_send_wr& wr) REQUIRES(send_lock_);

    // -- target_access.hpp
    void complete_at_target(Completion& completion,
                            const std::uint8_t* payload) NO_THREAD_SAFETY_ANALYSIS;

    // -- send_queue.cpp
    int post_generally(const ibv_send_wr& wr) REQUIRES(send_lock_);
    int check(const ibv_send_wr& wr) const REQUIRES(send_lock_);
    int check_at_limit(const ibv_send_wr& wr) const REQUIRES(send_lock_);
    void submit(const SendWork& work) REQUIRES(send_lock_);
    void enqueue(const SendWork& work) REQUIRES(send_lock_);
    SendWork& queued(std::uint32_t position) REQUIRES(send_lock_);
    Outcome try_to_carry_out(const SendWork& work) REQUIRES(send_lock_);
    Outcome carry_out(const SendWork& work) REQUIRES(send_lock_);
    /// Aims the next request at an XRC shared receive queue of the other end. Called by whoever
    /// carries out a request, under send_lock_, which the analysis cannot know.
    /// @return false when it has none with this number.
    bool aim(std::uint32_t srq_num) NO_THREAD_SAFETY_ANALYSIS;
    /// Completes a request that has been carried out, or fails it.
    void conclude(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_)
        EXCLUDES(receive_lock_);
    void complete(const SendWork& work, ibv_wc_status status) REQUIRES(send_lock_);
    void drain() REQUIRES(send_lock_);
    void begin_wait(Progress reason) REQUIRES(send_lock_);
    /// Makes the service thread call `call(*this)` at `when`. Without memory for that, the service
    /// thread serves the queue pair at once, as after a kick, and comes here again.
    template <class Call>
    void come_back(Deadline when, const Call& call) REQUIRES(send_lock_);
    bool is_signalled(const SendWork& work) const {
        return signal_all_ || (work.flags & IBV_SEND_SIGNALED) != 0;
    }

    /// Waits, at most kAgentPatience, until the peer's service thread no longer copies from or to
    /// the queue pair's buffer, which must not be reused before. Called without locks that our
    /// service thread takes.
    void await_agent() EXCLUDES(send_lock_);
    Deadline wait_deadline(Progress reason, bool& endless) const REQUIRES(send_lock_);
    Deadline retry_deadline(Progress reason) const REQUIRES(send_lock_);
    std::chrono::nanoseconds rnr_delay() const REQUIRES(send_lock_);

    // -- datagram_receive.cpp, for datagram queue pairs
    /// @return nullptr when a shared receive queue has no such slot.
    const DatagramSlot* datagram_slot(std::uint32_t position) const;
    void describe_datagram(std::uint32_t position, ibv_wc& wc) const;
    int deliver_datagram(const CqEntry& entry, std::uint32_t position);
    /// Ends the turn of a requester whose process has ended. Does nothing for other types.
    void end_orphaned_turn() EXCLUDES(receive_lock_);
    void end_turn(std::uint32_t holder) EXCLUDES(receive_lock_);
    void settle_ring() REQUIRES(receive_lock_);
    void settle_shared(SharedReceiveQueue& shared);
    bool datagram_peer_died(const Peer& peer) REQUIRES(send_lock_) EXCLUDES(receive_lock_);
    /// @return bytes in the arena: the ring of receives and what follows it.
    std::uint64_t receive_bytes() const;

    // -- flush.cpp
    bool requester_has_left(Deadline deadline) const;
    /// Keeps requesters out, and waits for the one that is at work. Called without locks.
    /// @return 0, or EBUSY when it is still at work after kRequesterPatience.
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
    void flush_xrc_receives() REQUIRES(receive_lock_);
    void tell_last_request() REQUIRES(receive_lock_);
    void put_back_xrc_receives();
    /// The adapter's mutex is held, which the analysis cannot know.
    void settle_receives() NO_THREAD_SAFETY_ANALYSIS;
    void post_flushed_receive(std::uint32_t slot);
    void report(ibv_event_type event);

    // -- receive_queue.cpp
    bool finish_shared_receive(const CqEntry& entry, std::uint32_t position, ibv_wc& wc);
    bool deliver_directly(const CqEntry& entry, ReceiveSlot& slot) const;

    // -- placement_watch.cpp
    /// Notes that a short message is in the receiver's queue, at this position. Called by whoever
    /// carries out a request of this queue pair, under send_lock_, which the analysis cannot know.
    void note_unplaced(std::uint64_t position) NO_THREAD_SAFETY_ANALYSIS {
        note_unplaced(position, unplaced_);
    }
    void note_unplaced(std::uint64_t position, Unplaced& unplaced) NO_THREAD_SAFETY_ANALYSIS {
        unplaced.end = position + 1;
        if (!is_watched_) [[unlikely]]
            watch_placement();
    }
    void watch_placement() REQUIRES(send_lock_);
    /// Called before a reset, so that what has been sent still reaches the receivers' buffers.
    void leave_placement() REQUIRES(send_lock_);
    /// Called before destruction, with the adapter's mutex held.
    void end_watch();

    Adapter& adapter_;
    const unsigned device_;                  ///< Context::device
    OpenXrcDomain* const xrcd_;              ///< of a handle of an XRC_RECV queue pair
    std::shared_ptr<XrcDomain> xrc_domain_;  ///< of an XRC_RECV queue pair, else nullptr
    QueuePair* real_ = nullptr;              ///< of a handle that ibv_open_qp made
    support::SpinLock handles_lock_;
    /// The handles of an XRC_RECV queue pair, itself among them until its creator destroys it.
    Handles handles_ GUARDED_BY(handles_lock_);
    bool is_closing_ GUARDED_BY(adapter_.mutex) = false;  ///< nobody opens it any more
    QpEntry* entry_ = nullptr;
    std::uint32_t index_ = 0;
    ibv_qp_cap cap_{};
    bool signal_all_ = false;
    bool blocks_own_multicast_ = false;
    std::atomic<std::uint32_t> attachments_{0};  ///< number of groups that it is in
    bool is_reliable_ = false;

    support::SpinLock send_lock_;
    std::atomic<ibv_qp_state> state_{IBV_QPS_RESET};
    ibv_qp_attr attributes_ GUARDED_BY(send_lock_){};
    Target target_ GUARDED_BY(send_lock_);
    /// Longest request of the direct path, in bytes: longer ones gain little. 0 without a link, and
    /// while a fault rule concerns the queue pair.
    static constexpr std::uint32_t kLongestDirect = 4096;
    std::uint32_t longest_direct_ GUARDED_BY(send_lock_) = kLongestDirect;
    bool is_cut_ GUARDED_BY(send_lock_) = false;  ///< its port has no link
    /// Whether a transfer is marked with a locked instruction, as one side lacks the barrier
    /// (barrier.hpp).
    bool is_fenced_ GUARDED_BY(send_lock_) = false;
    bool awaits_requester_ GUARDED_BY(send_lock_) = false;  ///< finish_error() has yet to flush
    /// Guards requester_: target_ as threads that do not hold send_lock_ see it. A leaf lock.
    mutable support::SpinLock requester_lock_;
    const Target* requester_ GUARDED_BY(requester_lock_) = nullptr;
    /// Positions: completed <= pending <= posted. Requests between completed and pending have been
    /// carried out.
    std::uint32_t send_posted_ GUARDED_BY(send_lock_) = 0;
    std::uint32_t send_pending_ GUARDED_BY(send_lock_) = 0;
    std::atomic<std::uint32_t> send_completed_{0};
    OwnPages send_slots_;  ///< copies of requests that have to wait
    std::uint32_t send_slot_stride_ = 0;
    std::uint32_t wait_ticket_ GUARDED_BY(send_lock_) = 0;
    bool tells_drained_ GUARDED_BY(send_lock_) = false;  ///< SQ_DRAINED is to be reported
    Progress waiting_for_ GUARDED_BY(send_lock_) = Progress::kDone;
    /// From then on kLocked and kAway, which are tried again and again, are errors.
    Deadline retried_until_ GUARDED_BY(send_lock_){};
    std::unique_ptr<AgentOperation> agent_ GUARDED_BY(send_lock_);
    std::unique_ptr<DatagramSender> datagrams_ GUARDED_BY(send_lock_);

    std::uint16_t service_ GUARDED_BY(send_lock_) = 0;  ///< the listener's port, or 0
    std::uint32_t ordinal_ = 0;  ///< how many queue pairs the process had created then
    /// nullptr unless a fault rule concerns the queue pair.
    std::unique_ptr<faults::RequestFaults> faults_ GUARDED_BY(send_lock_);
    std::unique_ptr<faults::RequestFaults> receive_faults_ GUARDED_BY(receive_lock_);
    /// Requests that may be under way: the queue's size, or 0 while a rule concerns the queue pair,
    /// so that each post is looked at. The same for receives.
    std::uint32_t send_limit_ GUARDED_BY(send_lock_) = 0;
    std::uint32_t receive_limit_ GUARDED_BY(receive_lock_) = 0;

    /// The first failure since creation or reset; later ones follow from it.
    verbs::QueuePairFailure failure_ GUARDED_BY(send_lock_){};

    std::uint64_t staging_ = 0;
    Unplaced unplaced_ GUARDED_BY(send_lock_);  ///< connected queue pairs only
    bool is_watched_ GUARDED_BY(send_lock_) = false;
    std::uint64_t agent_buffer_ = 0;  ///< agent_->buffer, for release_memory()

    std::unique_ptr<SendBuilder> builder_;

    support::SpinLock receive_lock_;
    ReceiveRing receives_;
    std::uint64_t receive_offset_ = 0;
    std::unique_ptr<std::uint64_t[]> receive_ids_;
    std::atomic<std::uint32_t> receive_posted_{0};  ///< written with receive_lock_ held
    std::uint32_t receive_flushed_ GUARDED_BY(receive_lock_) = 0;
    std::atomic<std::uint32_t> receive_completed_{0};
    /// Set in the error state once the receives posted so far are flushed: later ones are flushed
    /// when posted.
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
