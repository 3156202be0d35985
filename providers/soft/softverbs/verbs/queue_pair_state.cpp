// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The state changes of a queue pair: which are allowed, which attributes they need, what they do.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/transitions.hpp"

namespace softverbs {
namespace {

/// @return IBV_ACCESS_* bits of the requests that a queue pair takes from its peer. Without
/// resources to answer them it takes no reads and atomic operations.
std::uint32_t taken_requests(const ibv_qp_attr& attributes) {
    constexpr std::uint32_t kAnswered = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    return attributes.qp_access_flags & ~(attributes.max_dest_rd_atomic == 0 ? kAnswered : 0);
}

}  // namespace

int QueuePair::modify(const ibv_qp_attr& attributes, int mask) {
    const ibv_qp_state current = state_.load();
    if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != current) return EINVAL;
    const ibv_qp_state next = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : current;
    if (const int cause = check_modify(next, attributes, mask)) return cause;
    if (next == IBV_QPS_RESET) {
        await_agent();
        if (const int cause = close_to_requesters()) return cause;
    }
    if (next == IBV_QPS_ERR || next == IBV_QPS_RESET) finish_search();
    Target target;
    const bool connects = next == IBV_QPS_RTR && qp_type != IBV_QPT_UD;
    if (connects && current == IBV_QPS_INIT) {
        // Waits for the peer's service thread, so before any lock is taken.
        Result<Target> bound = Target::bind(adapter_, attributes.dest_qp_num & 0xffffff, qp_type);
        if (!bound) return bound.error();
        // At another port nobody has that number.
        const auto port = port_at(adapter_.process(), attributes.ah_attr);
        if (!bound->is_at(port->index())) return EINVAL;
        target = std::move(*bound);
    }
    if (const int cause = change(current, next, attributes, mask, std::move(target))) return cause;
    if ((mask & (IBV_QP_PORT | IBV_QP_DEST_QPN)) != 0) look_at_faults();
    return 0;
}

int QueuePair::change(ibv_qp_state current, ibv_qp_state next, const ibv_qp_attr& attributes,
                      int mask, Target target) {
    support::SpinLockGuard lock(send_lock_);
    // The queue pair may have failed since the check, which does not prevent a change that is
    // allowed in every state.
    const bool always_allowed = next == IBV_QPS_ERR || next == IBV_QPS_RESET;
    if (!always_allowed && state_.load() != current) return EINVAL;
    apply(next, attributes, mask);
    if (target.peer) connect(std::move(target), attributes);
    return 0;
}

int QueuePair::check_modify(ibv_qp_state next, const ibv_qp_attr& attributes, int mask) const {
    if (!is_allowed(qp_type, state_.load(), next, mask)) return EINVAL;
    if ((mask & IBV_QP_PORT) != 0 && !is_port(attributes.port_num)) return EINVAL;
    if ((mask & IBV_QP_PKEY_INDEX) != 0 && attributes.pkey_index != 0) return EINVAL;
    if ((mask & IBV_QP_ALT_PATH) != 0) return EOPNOTSUPP;
    if ((mask & IBV_QP_CAP) != 0) return EOPNOTSUPP;
    if ((mask & IBV_QP_AV) != 0 && !is_path(attributes.ah_attr)) return EINVAL;
    if ((mask & IBV_QP_AV) != 0 && !port_at(adapter_.process(), attributes.ah_attr)) return EINVAL;
    if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attributes.max_rd_atomic > kMaxReadAtomic)
        return EINVAL;
    if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attributes.max_dest_rd_atomic > kMaxReadAtomic)
        return EINVAL;
    if ((mask & IBV_QP_RNR_RETRY) != 0 && attributes.rnr_retry > 7) return EINVAL;
    if ((mask & IBV_QP_RETRY_CNT) != 0 && attributes.retry_cnt > 7) return EINVAL;
    if ((mask & IBV_QP_TIMEOUT) != 0 && attributes.timeout > 31) return EINVAL;
    if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && attributes.min_rnr_timer > 31) return EINVAL;
    return 0;
}

void QueuePair::set_state(ibv_qp_state next) {
    state_.store(next, std::memory_order_seq_cst);
}

void QueuePair::apply(ibv_qp_state next, const ibv_qp_attr& attributes, int mask) {
    const ibv_qp_state previous = state_.load();
    remember(attributes, mask);
    if (next == IBV_QPS_RESET) return reset();
    if (next == IBV_QPS_ERR) {
        if (previous != IBV_QPS_RESET) return enter_error(IBV_WC_WR_FLUSH_ERR);
        entry_->readiness.store(Readiness::kFailed);
        return set_state(next);
    }
    if (next == IBV_QPS_RTR && qp_type != IBV_QPT_UD) return;  // connect() completes it
    set_state(next);
    tells_drained_ = next == IBV_QPS_SQD && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 &&
                     attributes.en_sqd_async_notify != 0;
    tell_when_drained();
    if (next == IBV_QPS_RTR) open_to_requesters();
    if (next != IBV_QPS_RTS) return;
    stop_expecting();
    drain();
}

/// The queue pair sends now: nobody has to be told of the first request that it gets.
void QueuePair::stop_expecting() {
    Readiness expectant = Readiness::kExpectant;
    entry_->readiness.compare_exchange_strong(expectant, Readiness::kReady,
                                              std::memory_order_seq_cst);
}

/// Reports IBV_EVENT_SQ_DRAINED once requests under way have ended: here only one that the peer's
/// service thread copies can be under way.
void QueuePair::tell_when_drained() {
    if (!tells_drained_ || (agent_ && agent_->busy)) return;
    tells_drained_ = false;
    report(IBV_EVENT_SQ_DRAINED);
}

void QueuePair::remember(const ibv_qp_attr& a, int mask) {
    ibv_qp_attr& mine = attributes_;
    if (mask & IBV_QP_ACCESS_FLAGS) mine.qp_access_flags = a.qp_access_flags;
    if (mask & IBV_QP_PKEY_INDEX) mine.pkey_index = a.pkey_index;
    if (mask & IBV_QP_PORT) {
        mine.port_num = a.port_num;
        entry_->port.store(static_cast<std::uint16_t>(port().index() + 1),
                           std::memory_order_release);
        note_link();
    }
    if (mask & IBV_QP_QKEY) mine.qkey = a.qkey;
    if (mask & IBV_QP_AV) mine.ah_attr = a.ah_attr;
    if (mask & IBV_QP_PATH_MTU) mine.path_mtu = a.path_mtu;
    if (mask & IBV_QP_TIMEOUT) mine.timeout = a.timeout;
    if (mask & IBV_QP_RETRY_CNT) mine.retry_cnt = a.retry_cnt;
    if (mask & IBV_QP_RNR_RETRY) mine.rnr_retry = a.rnr_retry;
    if (mask & IBV_QP_RQ_PSN) mine.rq_psn = a.rq_psn & 0xffffff;
    if (mask & IBV_QP_SQ_PSN) mine.sq_psn = a.sq_psn & 0xffffff;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) mine.max_rd_atomic = a.max_rd_atomic;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) mine.max_dest_rd_atomic = a.max_dest_rd_atomic;
    if (mask & IBV_QP_MIN_RNR_TIMER) mine.min_rnr_timer = a.min_rnr_timer;
    if (mask & IBV_QP_DEST_QPN) mine.dest_qp_num = a.dest_qp_num & 0xffffff;
    if (mask & IBV_QP_PATH_MIG_STATE) mine.path_mig_state = a.path_mig_state;
    entry_->qkey.store(mine.qkey, std::memory_order_release);
    entry_->access.store(taken_requests(mine), std::memory_order_release);
    entry_->min_rnr_timer.store(mine.min_rnr_timer, std::memory_order_release);
}

void QueuePair::connect(Target target, const ibv_qp_attr& attributes) {
    const std::atomic<std::uint64_t>& word = target.arena.qp(target.index).transfer;
    entry_->requester_word = reinterpret_cast<std::uintptr_t>(&word);
    adapter_.requesters.enter(index_, qp_num, target.peer, &word);
    const bool both_take_part =
        target.arena.header().has_barrier != 0 && adapter_.view().header().has_barrier != 0;
    is_fenced_ = !both_take_part;
    target.names = CompletionNames::of(target.qp_num, qp_num, 0);
    {
        support::SpinLockGuard guard(requester_lock_);
        target_ = std::move(target);
        requester_ = &target_;
    }
    note_detour();
    set_state(IBV_QPS_RTR);
    entry_->dest_qp_num.store(attributes.dest_qp_num & 0xffffff, std::memory_order_seq_cst);
    open_to_requesters();
    fault_point(FaultPoint::kQueuePairReady);
    wake_requester();
}

/// An XRC_SEND queue pair takes no requests.
Readiness QueuePair::when_connected() const {
    if (qp_type == IBV_QPT_XRC_SEND) return Readiness::kNotReady;
    if (qp_type == IBV_QPT_XRC_RECV) return Readiness::kXrcReady;
    const bool expects = state_.load() == IBV_QPS_RTR && qp_type != IBV_QPT_UD;
    return expects ? Readiness::kExpectant : Readiness::kReady;
}

/// The caller has waited for the requester (close_to_requesters).
void QueuePair::reset() {
    leave_placement();
    entry_->readiness.store(Readiness::kNotReady, std::memory_order_seq_cst);
    set_state(IBV_QPS_RESET);
    end_orphaned_turn();
    adapter_.requesters.leave(index_);
    entry_->requester_word = 0;
    ++wait_ticket_;
    waiting_for_ = Progress::kDone;
    failure_ = {};
    if (agent_) agent_->busy = false;
    // A peer that has not finished with the buffer in the time that await_agent() gave it keeps it.
    if (agent_ && std::exchange(agent_->at_peer, false) && !target_.peer->has_ended())
        agent_->buffer = 0;
    if (send_cq) send_queue().purge(*this);
    if (recv_cq) receive_queue().purge(*this);
    if (SharedReceiveQueue* shared = shared_queue()) {
        shared->each_taken(qp_num, [shared](std::uint32_t slot, bool) { shared->free_slot(slot); });
    }
    send_posted_ = send_pending_ = 0;
    send_completed_.store(0);
    if (faults_) faults_->reset();
    if (faults_ && datagrams_) datagrams_->drop_held();
    support::SpinLockGuard lock(receive_lock_);
    for (std::uint32_t slot = 0; slot < std::min(receive_posted_.load(), receives_.size); ++slot)
        receives_.slot(slot)->taker.store(0, std::memory_order_relaxed);
    receive_posted_ = receive_flushed_ = 0;
    receive_completed_.store(0);
    receives_are_flushed_ = false;
    last_wqe_told_ = false;
    entry_->consumed.store(0);
    entry_->waiting.store(0);
    entry_->fault.store(Fault::kNone);
    entry_->established.store(0);
    entry_->dest_qp_num.store(0);
    entry_->port.store(0);
    support::SpinLockGuard guard(requester_lock_);
    requester_ = nullptr;
}

void QueuePair::query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) {
    support::SpinLockGuard lock(send_lock_);
    attributes = attributes_;
    attributes.qp_state = state_.load();
    attributes.cur_qp_state = attributes.qp_state;
    attributes.cap = cap_;
    attributes.sq_draining = attributes.qp_state == IBV_QPS_SQD && send_pending_ != send_posted_;
    std::memset(&init, 0, sizeof init);
    init.qp_context = qp_context;
    init.send_cq = send_cq;
    init.recv_cq = recv_cq;
    init.srq = srq;
    init.cap = cap_;
    init.qp_type = qp_type;
    init.sq_sig_all = signal_all_;
}

}  // namespace softverbs
