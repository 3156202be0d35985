// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The error state of a queue pair: no requester gets in any more, and everything posted gets
/// exactly one completion, in order.
#include <algorithm>
#include <cerrno>

#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/diagnosis.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"

namespace softverbs {
namespace {

/// The service thread waits so long before it checks a requester again. One that is at work when
/// its target fails ends its piece within microseconds, unless it has been stopped.
constexpr std::chrono::milliseconds kFlushPause{5};

}  // namespace

/// An unreliable queue pair continues to receive, and sends again once the program moves it back to
/// RTS. The state changes before the completion is posted: whoever polls an error finds the queue
/// pair failed.
void QueuePair::fail_request(const SendWork& work, ibv_wc_status status) {
    const bool breaks = is_reliable();
    note_failure(work, status);
    if (breaks)
        begin_error();
    else
        set_state(IBV_QPS_SQE);
    complete(work, status);
    flush_sends(IBV_WC_WR_FLUSH_ERR);
    if (breaks) finish_error();
}

void QueuePair::enter_error(ibv_wc_status head_status) {
    if (state_.load() == IBV_QPS_ERR) return;
    if (head_status == IBV_WC_RETRY_EXC_ERR && failure_.cause == verbs::FailureCause::kUnknown)
        failure_ = diagnose_silence(adapter_, *entry_, target_);
    begin_error();
    flush_sends(head_status);
    finish_error();
}

void QueuePair::note_failure(const SendWork& work, ibv_wc_status status) {
    if (datagrams_ || failure_.cause != verbs::FailureCause::kUnknown) return;
    if (status == IBV_WC_LOC_PROT_ERR)
        failure_ = diagnose_local(adapter_, work, domain().number());
    else if (status == IBV_WC_REM_ACCESS_ERR)
        failure_ = diagnose_remote(target_, asked_by(work));
    else if (status == IBV_WC_REM_INV_REQ_ERR)
        failure_ = diagnose_invalid(target_, asked_by(work));
    else if (status == IBV_WC_REM_OP_ERR)
        failure_ = diagnose_remote_receive(target_);
}

void QueuePair::note_refusal(Fault fault) {
    if (datagrams_ || failure_.cause != verbs::FailureCause::kUnknown) return;
    if (fault == Fault::kAccess)
        failure_ = diagnose_asked(adapter_.view(), *entry_);
    else if (fault == Fault::kInvalidRequest)
        failure_ = diagnose_invalid(*entry_);
    else if (fault == Fault::kLocalError)
        failure_ = diagnose_receive(adapter_.view(), *entry_, receive_pd());
}

/// Returns the protection domain of the receive queue, as requesters see it.
std::uint32_t QueuePair::receive_pd() const {
    return srq ? ProtectionDomain::of(srq->pd).number() : pd_number();
}

bool QueuePair::failure(verbs::QueuePairFailure& failure) {
    std::shared_ptr<Peer> peer;
    {
        support::SpinLockGuard lock(send_lock_);
        // Our user may hear of the failure by the peer's disconnect, before the service thread has
        // served the kick.
        note_refusal(entry_->fault.load(std::memory_order_seq_cst));
        failure = failure_;
        if (failure.cause != verbs::FailureCause::kUnknown) return true;
        if (!datagrams_) peer = target_.peer;
    }
    if (!peer || peer->alive() || !peer->wait_for_end()) return false;
    failure = diagnose_death(*peer);
    return true;
}

void QueuePair::begin_error() {
    set_state(IBV_QPS_ERR);
    entry_->readiness.store(Readiness::kFailed, std::memory_order_seq_cst);
}

/// Flushes the receives once the requester has ended the request that it is carrying out, which may
/// complete one of them. Does not wait for one that has been stopped: the service thread tries
/// again.
void QueuePair::finish_error() {
    awaits_requester_ = !requester_has_left(Clock::now());
    if (!awaits_requester_) {
        end_orphaned_turn();
        return flush_receives();
    }
    come_back(Clock::now() + kFlushPause, [](QueuePair& qp) { qp.serve_kick(); });
}

/// A datagram queue pair has many requesters, of which one at a time has its turn.
bool QueuePair::requester_is_done(Deadline deadline) const {
    if (qp_type == IBV_QPT_UD) return turn_is_over(*entry_, adapter_, deadline);
    return adapter_.requesters.wait_for_queue_pair(index_, deadline);
}

/// Like requester_is_done(), when the queue pair is no longer ready: its requester begins nothing
/// any more, so nobody has to wait for it again.
bool QueuePair::requester_has_left(Deadline deadline) const {
    if (!requester_is_done(deadline)) return false;
    adapter_.requesters.leave(index_);
    return true;
}

int QueuePair::close_to_requesters() {
    entry_->readiness.store(Readiness::kNotReady, std::memory_order_seq_cst);
    if (!requester_has_left(Clock::now() + kRequesterPatience)) return EBUSY;
    if (xrc_domain_) put_back_xrc_receives();
    return 0;
}

/// @param head_status status of the first request, which was under way; those behind it are
/// flushed.
void QueuePair::flush_sends(ibv_wc_status head_status) {
    ++wait_ticket_;
    waiting_for_ = Progress::kDone;
    if (agent_) agent_->busy = false;
    while (send_pending_ != send_posted_) {
        complete(queued(send_pending_), head_status);
        head_status = IBV_WC_WR_FLUSH_ERR;
        ++send_pending_;
    }
}

/// Flushes the receives. One that was consumed has its completion in the queue, unless its
/// requester died before it published that: then it is flushed like those that were not consumed.
void QueuePair::flush_receives() {
    support::SpinLockGuard lock(receive_lock_);
    if (!recv_cq) return flush_xrc_receives();
    std::uint32_t completed = 0;
    SharedReceiveQueue* const shared = shared_queue();
    const std::uint32_t published = receive_queue().settle_receives(
        qp_num, [&] { completed = receive_completed_.load(std::memory_order_relaxed); },
        [shared](const CqEntry& entry) {
            if (shared) shared->note_completed(read_once(entry.position));
        });
    if (shared) {
        shared->each_taken(qp_num, [this](std::uint32_t slot, bool completes) {
            if (!completes) post_flushed_receive(slot);
        });
        return tell_last_request();
    }
    receives_are_flushed_ = true;
    // Peers may have written anything into the queue, so the count is limited to what was posted.
    receive_flushed_ = completed + std::min(published, receive_posted_ - completed);
    while (receive_flushed_ != receive_posted_) post_flushed_receive(receive_flushed_++);
}

/// Reports that no more receives of a shared queue will be consumed.
void QueuePair::tell_last_request() {
    if (!last_wqe_told_) report(IBV_EVENT_QP_LAST_WQE_REACHED);
    last_wqe_told_ = true;
}

/// Completions that wait belong to the shared receive queues: they outlive the queue pair.
void QueuePair::flush_xrc_receives() {
    if (!xrc_domain_) return;
    xrc_domain_->each_queue([this](SharedReceiveQueue& queue) { queue.flush_taken(qp_num); });
    tell_last_request();
}

/// Posts the receives again that a requester took and did not complete before it died.
void QueuePair::put_back_xrc_receives() {
    support::MutexLock lock(adapter_.mutex);
    settle_receives();
    adapter_.each_shared_queue([this](SharedReceiveQueue& queue) {
        if (queue.domain() == xrc_domain_.get()) queue.put_back_taken(qp_num);
    });
}

/// Voids what a dead requester claimed. That of an XRC_RECV queue pair may have worked in any
/// completion queue, also for a shared receive queue that is gone.
void QueuePair::settle_receives() {
    if (recv_cq)
        receive_queue().settle_receives(qp_num);
    else
        adapter_.each_completion_queue([this](CompletionQueue& cq) { cq.settle_receives(qp_num); });
}

void QueuePair::report(ibv_event_type type) {
    ibv_async_event event{};
    event.element.qp = this;
    event.event_type = type;
    if (xrc_domain_) return report_to_handles(event);
    Context::of(context).events.push(event);
}

void QueuePair::fail(ibv_event_type event) {
    support::SpinLockGuard lock(send_lock_);
    const ibv_qp_state state = state_.load();
    if (state == IBV_QPS_ERR || state == IBV_QPS_RESET) return;
    enter_error(IBV_WC_WR_FLUSH_ERR);
    report(event);
}

/// Reclaims at once what the dead process held, for the sake of others that use the same queues.
/// @return whether give_up_peer() has to follow.
bool QueuePair::peer_died(const Peer& peer) {
    support::SpinLockGuard lock(send_lock_);
    if (datagrams_) return datagram_peer_died(peer);
    if (target_.peer.get() != &peer || state_.load() == IBV_QPS_RESET) return false;
    if (requester_is_done(Clock::now())) settle_receives();
    return true;
}

/// Fails the queue pair after its peer has died. A peer that destroyed its queue pair before it
/// ended left in order: as with a hardware adapter, an idle queue pair at this end does not notice.
void QueuePair::give_up_peer(const Peer& peer) {
    support::SpinLockGuard lock(send_lock_);
    const ibv_qp_state state = state_.load();
    if (target_.peer.get() != &peer || state == IBV_QPS_RESET) return;
    if (state == IBV_QPS_ERR) return finish_error();
    if (!is_reliable()) return lose_sends();
    const bool left_in_order =
        target_.entry->generation.load(std::memory_order_acquire) != target_.generation;
    if (left_in_order && send_pending_ == send_posted_) return;
    enter_error(IBV_WC_RETRY_EXC_ERR);
    report(IBV_EVENT_QP_FATAL);
}

/// Completes what was under way to a peer that is gone: an unreliable queue pair is not told that
/// it is lost.
void QueuePair::lose_sends() {
    if (agent_) agent_->busy = false;
    waiting_for_ = Progress::kDone;
    drain();
}

void QueuePair::receive_failed() {
    serve_kick();
    support::SpinLockGuard lock(send_lock_);
    const ibv_qp_state state = state_.load();
    if (state != IBV_QPS_RESET && state != IBV_QPS_INIT) enter_error(IBV_WC_WR_FLUSH_ERR);
}

/// Finishes a bind or an invalidation at the head of the queue that has withdrawn its old key and
/// waits for that key's last users. A peer that is refused now is refused because of that
/// request, so the request has to be carried out, and completes accordingly, before the queue pair
/// fails.
/// @return false while it has to wait longer.
bool QueuePair::finish_withdrawal() {
    if (waiting_for_ != Progress::kLocked || state_.load() != IBV_QPS_RTS) return true;
    const SendWork& work = queued(send_pending_);
    if (!work.is_local() || Clock::now() >= retried_until_) return true;
    const Outcome outcome = carry_out(work);
    if (outcome.progress != Progress::kDone) return false;
    waiting_for_ = Progress::kDone;
    ++send_pending_;
    conclude(work, outcome.status);
    return true;
}

/// The fault is taken with the lock held, and noted before the lock is released, so that failure()
/// finds it in one of the two places. A queue pair that was disconnected meanwhile notes it too.
void QueuePair::serve_kick() {
    // The kick may come from a requester that has waited long for its turn: the holder may have
    // died without having been noticed.
    end_orphaned_turn();
    support::SpinLockGuard lock(send_lock_);
    const Fault fault = entry_->fault.exchange(Fault::kNone, std::memory_order_seq_cst);
    if (fault != Fault::kNone && !finish_withdrawal()) {
        Fault none = Fault::kNone;
        entry_->fault.compare_exchange_strong(none, fault, std::memory_order_seq_cst);
        return come_back(Clock::now() + kFlushPause, [](QueuePair& qp) { qp.serve_kick(); });
    }
    const ibv_qp_state state = state_.load();
    if (entry_->established.exchange(0) != 0 && state == IBV_QPS_RTR) report(IBV_EVENT_COMM_EST);
    if (state != IBV_QPS_RESET && state != IBV_QPS_INIT) note_refusal(fault);
    if (fault != Fault::kNone && (state == IBV_QPS_RTR || state == IBV_QPS_RTS ||
                                  state == IBV_QPS_SQD || state == IBV_QPS_SQE)) {
        enter_error(IBV_WC_WR_FLUSH_ERR);
        if (fault == Fault::kAccess) report(IBV_EVENT_QP_ACCESS_ERR);
        if (fault == Fault::kInvalidRequest) report(IBV_EVENT_QP_REQ_ERR);
    } else if (state == IBV_QPS_ERR && awaits_requester_) {
        finish_error();
    }
    drain();
}

}  // namespace softverbs
