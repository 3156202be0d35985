// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The error state: no requester gets in any more, everything posted gets a completion, in order
/// and exactly one.
#include <algorithm>

#include "providers/soft/verbs/agent.hpp"
#include "providers/soft/verbs/atomics.hpp"
#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {

/// An unreliable queue pair goes on receiving, and sends again when it is told to.
void QueuePair::request_failed() {
    if (is_reliable()) return enter_error(IBV_WC_WR_FLUSH_ERR);
    set_state(IBV_QPS_SQE);
    flush_sends(IBV_WC_WR_FLUSH_ERR);
}

void QueuePair::enter_error(ibv_wc_status head_status) {
    if (state_.load() == IBV_QPS_ERR) return;
    set_state(IBV_QPS_ERR);
    entry_->readiness.store(Readiness::kFailed, std::memory_order_seq_cst);
    flush_sends(head_status);
    quiesce();
    flush_receives();
}

/// Waits for the requester, which looks at the readiness after it has said that it is busy. One
/// that died is not waited for, and what it held here is taken back.
void QueuePair::quiesce() {
    wait_for_requester();
    end_orphaned_turn();
    if (target_.peer && target_.peer->gone()) {
        entry_->busy.store(0, std::memory_order_seq_cst);
        break_atomic_lock(adapter_.view().header(), qp_num);
    }
}

/// @param head_status of the first request, which was under way; those behind it are flushed.
void QueuePair::flush_sends(ibv_wc_status head_status) {
    ++wait_ticket_;
    waiting_for_ = Progress::kDone;
    if (is_handed_over()) ++send_pending_;  // it has its completion
    if (agent_) agent_->busy = false;
    while (send_pending_ != send_posted_) {
        complete(queued(send_pending_), head_status);
        head_status = IBV_WC_WR_FLUSH_ERR;
        ++send_pending_;
    }
}

/// A receive that was consumed has its completion in the queue, unless its requester died before
/// it was published: then it is flushed like those that nobody consumed.
void QueuePair::flush_receives() {
    support::SpinLockGuard lock(receive_lock_);
    std::uint32_t completed = 0;
    const std::vector<std::uint32_t> waiting = receive_queue().settle_receives(
        qp_num, [&] { completed = receive_completed_.load(std::memory_order_relaxed); });
    if (SharedReceiveQueue* shared = shared_queue()) {
        for (const std::uint32_t slot : shared->taken_for(qp_num)) {
            if (std::find(waiting.begin(), waiting.end(), slot) == waiting.end())
                post_flushed_receive(slot);
        }
        if (!last_wqe_told_) report(IBV_EVENT_QP_LAST_WQE_REACHED);
        last_wqe_told_ = true;
        return;
    }
    receives_are_flushed_ = true;
    // A peer may have written into the queue: not more than were posted.
    const auto published = static_cast<std::uint32_t>(waiting.size());
    receive_flushed_ = completed + std::min(published, receive_posted_ - completed);
    while (receive_flushed_ != receive_posted_) post_flushed_receive(receive_flushed_++);
}

void QueuePair::report(ibv_event_type type) {
    ibv_async_event event{};
    event.element.qp = this;
    event.event_type = type;
    Context::of(context).events.push(event);
}

void QueuePair::fail(ibv_event_type event) {
    support::SpinLockGuard lock(send_lock_);
    const ibv_qp_state state = state_.load();
    if (state == IBV_QPS_ERR || state == IBV_QPS_RESET) return;
    enter_error(IBV_WC_WR_FLUSH_ERR);
    report(event);
}

/// What the dead process held is taken back at once, for the sake of others on the same queues.
/// @return whether the rest (give_up_peer) is to follow.
bool QueuePair::peer_died(const Peer& peer) {
    support::SpinLockGuard lock(send_lock_);
    if (datagrams_) return datagram_peer_died(peer);
    if (target_.peer.get() != &peer || state_.load() == IBV_QPS_RESET) return false;
    quiesce();
    receive_queue().settle_receives(qp_num, [] {});
    return true;
}

/// A peer that destroyed its queue pair before it ended left in order: as with an adapter, an idle
/// queue pair at this end hears nothing of it.
void QueuePair::give_up_peer(const Peer& peer) {
    support::SpinLockGuard lock(send_lock_);
    const ibv_qp_state state = state_.load();
    if (target_.peer.get() != &peer || state == IBV_QPS_RESET) return;
    if (state == IBV_QPS_ERR) return flush_receives();
    if (!is_reliable()) return lose_sends();
    const bool left_in_order =
        target_.entry->generation.load(std::memory_order_acquire) != target_.generation;
    if (left_in_order && send_pending_ == send_posted_) return;
    enter_error(IBV_WC_RETRY_EXC_ERR);
    report(IBV_EVENT_QP_FATAL);
}

/// What was under way to a peer that is gone is lost, which an unreliable queue pair is not told.
void QueuePair::lose_sends() {
    if (agent_) agent_->busy = false;
    waiting_for_ = Progress::kDone;
    drain();
}

void QueuePair::serve_kick() {
    const Fault fault = entry_->fault.exchange(Fault::kNone, std::memory_order_seq_cst);
    // A requester has waited long for its turn: who has it may have died before we knew it.
    end_orphaned_turn();
    support::SpinLockGuard lock(send_lock_);
    const ibv_qp_state state = state_.load();
    if (fault != Fault::kNone && (state == IBV_QPS_RTR || state == IBV_QPS_RTS ||
                                  state == IBV_QPS_SQD || state == IBV_QPS_SQE)) {
        enter_error(IBV_WC_WR_FLUSH_ERR);
        if (fault == Fault::kAccess) report(IBV_EVENT_QP_ACCESS_ERR);
        if (fault == Fault::kInvalidRequest) report(IBV_EVENT_QP_REQ_ERR);
    }
    drain();
}

}  // namespace softverbs
