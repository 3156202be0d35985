// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fault rules (softverbs-fault(5)) applied to requests and posts. A queue pair that no rule
/// concerns never comes here. One that a rule concerns has no direct path, and takes the detour
/// below, as one without a link does, for each request.
#include <signal.h>

#include <cerrno>

#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/executor.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/target_access.hpp"

namespace softverbs {
namespace {

using faults::Action;
using faults::RequestFaults;
using faults::Rule;
using faults::Subject;

faults::Type type_of(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_UC:
            return faults::kUc;
        case IBV_QPT_UD:
            return faults::kUd;
        case IBV_QPT_XRC_SEND:
        case IBV_QPT_XRC_RECV:
            return faults::kXrc;
        default:
            return faults::kRc;
    }
}

Subject operation_of(ibv_wr_opcode opcode) {
    switch (remote_right(opcode)) {
        case IBV_ACCESS_REMOTE_WRITE:
            return Subject::kWrite;
        case IBV_ACCESS_REMOTE_READ:
            return Subject::kRead;
        case IBV_ACCESS_REMOTE_ATOMIC:
            return Subject::kAtomic;
        default:
            return Subject::kSend;
    }
}

}  // namespace

RequestFaults::Place QueuePair::place_of(bool receives) const {
    return {type_of(qp_type), device_, attributes_.port_num, ordinal_, qp_num, service_, receives};
}

void QueuePair::set_service(std::uint16_t port) {
    {
        support::SpinLockGuard lock(send_lock_);
        if (std::exchange(service_, port) == port) return;
    }
    look_at_faults();
}

void QueuePair::look_at_faults() {
    faults::Faults& all = adapter_.process().faults();
    std::shared_ptr<const faults::Plan> plan;
    do {
        plan = all.plan();
        RequestFaults::Place place;
        std::shared_ptr<Peer> peer;
        {
            support::SpinLockGuard lock(send_lock_);
            place = place_of(false);
            peer = target_.peer;
        }
        const faults::Identity* const other = peer ? &peer->identity() : nullptr;
        // Made before the locks, and what they replace is freed after them.
        auto sends = RequestFaults::make(plan, place, other);
        place.receives = true;
        auto receives = RequestFaults::make(plan, place, other);
        auto room = sends && sends->reorders() ? std::make_unique<HeldDatagram>() : nullptr;
        support::SpinLockGuard lock(send_lock_);
        if (sends && faults_) sends->go_on(*faults_);
        faults_.swap(sends);
        if (datagrams_) datagrams_->exchange_room(room);
        send_limit_ = faults_ ? 0 : cap_.max_send_wr;
        if (attributes_.port_num != 0) note_detour();
        support::SpinLockGuard receive_lock(receive_lock_);
        if (receives && receive_faults_) receives->go_on(*receive_faults_);
        receive_faults_.swap(receives);
        receive_limit_ = receive_faults_ ? 0 : cap_.max_recv_wr;
    } while (plan != all.plan());
}

const Rule* QueuePair::rule_for(const SendWork& work, const faults::Identity* peer) {
    if (!faults_) return nullptr;
    const std::uint32_t to =
        datagrams_ ? static_cast<std::uint32_t>(work.remote_addr) : attributes_.dest_qp_num;
    return faults_->of_request(operation_of(work.opcode), work.length, work.position, to, peer);
}

const Rule* QueuePair::rule_for_next(const ibv_send_wr& wr) {
    return faults_->of_request(operation_of(wr.opcode), wr.sg_list->length, send_posted_,
                               attributes_.dest_qp_num);
}

/// Interrupts the process itself or the one at the other end, once.
void QueuePair::signal_by_rule(pid_t process, int signal) {
    faults_->settle();
    kill(process, signal);
}

std::optional<Outcome> QueuePair::divert(const Rule& rule) {
    switch (rule.action) {
        case Action::kRetryExceeded:
            return failed_by_rule(IBV_WC_RETRY_EXC_ERR);
        case Action::kRnrRetryExceeded:
            return failed_by_rule(IBV_WC_RNR_RETRY_EXC_ERR);
        case Action::kLocalProtection:
            return failed_by_rule(IBV_WC_LOC_PROT_ERR);
        case Action::kLocalLength:
            return failed_by_rule(IBV_WC_LOC_LEN_ERR);
        case Action::kFlush:
            return failed_by_rule(IBV_WC_WR_FLUSH_ERR);
        case Action::kDelay:
        case Action::kBandwidth:
            if (Clock::now() < faults_->release())
                return Outcome{Progress::kDelayed, IBV_WC_SUCCESS};
            return std::nullopt;
        case Action::kNotReady:
            if (Clock::now() >= faults_->not_ready_until()) return std::nullopt;
            return Outcome{Progress::kNoReceive, IBV_WC_SUCCESS};
        case Action::kDrop:
            return done(IBV_WC_SUCCESS);
        case Action::kKill:
            signal_by_rule(getpid(), SIGKILL);
            return std::nullopt;
        case Action::kStop:
            signal_by_rule(getpid(), SIGSTOP);
            return std::nullopt;
        case Action::kKillPeer:
            signal_by_rule(target_.peer->pid(), SIGKILL);
            return std::nullopt;
        case Action::kStopPeer:
            signal_by_rule(target_.peer->pid(), SIGSTOP);
            return std::nullopt;
        case Action::kDisconnect:
            disconnect_by_rule();
            return std::nullopt;
        case Action::kCqOverrun:
            send_queue().note_overrun();
            return Outcome{Progress::kNotReady, IBV_WC_SUCCESS};
        case Action::kPeerCqOverrun:
            faults_->settle();
            target_.completions->overrun.store(1, std::memory_order_release);
            target_.kick_cq();
            return Outcome{Progress::kNotReady, IBV_WC_SUCCESS};
        case Action::kPeerSrqLimit:
            faults_->settle();
            if (SrqHeader* const shared = target_.receives.shared)
                if (shared->limit.exchange(0) != 0) target_.kick_srq();
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

/// The connection manager's lock comes before ours, so its service thread does it.
void QueuePair::disconnect_by_rule() {
    faults_->settle();
    Process* const process = &adapter_.process();
    (void)Service::persist([&] {
        process->service().at(Clock::now(),
                              [process, number = qp_num] { process->end_connection(number); });
    });
}

Outcome QueuePair::failed_by_rule(ibv_wc_status status) {
    note_rule();
    return done(status);
}

void QueuePair::note_rule() {
    if (failure_.cause == verbs::FailureCause::kUnknown)
        failure_.cause = verbs::FailureCause::kFaultRule;
}

/// Whether nobody answers the queue pair, as a rule asks for a while or for ever.
bool QueuePair::is_silenced() const {
    return faults_ && faults_->is_silent();
}

/// Whether a rule makes the request at hand wait as if its peer did not answer.
bool QueuePair::is_held_by_rule() const {
    return is_silenced() || (faults_ && Clock::now() < faults_->not_ready_until());
}

/// Makes the service thread try again when such a wait ends.
void QueuePair::come_back_by_rule() {
    const auto now = Clock::now();
    for (const auto end : {faults_->silent_until(), faults_->not_ready_until()})
        if (end > now && end != Clock::time_point::max())
            come_back(end, [](QueuePair& qp) { qp.serve_kick(); });
}

int QueuePair::refuse_receive(std::uint32_t used) const {
    if (used >= cap_.max_recv_wr) return recv_cq ? ENOMEM : EINVAL;
    return receive_faults_ ? receive_faults_->of_post() : 0;
}

/// @return what becomes of the request instead of being carried out, if anything.
[[gnu::noinline]] std::optional<Outcome> Executor::detour() {
    if (qp_.is_cut()) return Outcome{Progress::kNotReady, IBV_WC_SUCCESS};
    const Rule* const rule = qp_.rule_for(work_);
    if (qp_.is_silenced()) return Outcome{Progress::kNotReady, IBV_WC_SUCCESS};
    if (!rule) return std::nullopt;
    switch (rule->action) {
        case Action::kRemoteAccess:
        case Action::kRemoteOperation:
        case Action::kRemoteInvalidRequest:
            return refuse_by_rule(*rule);
        case Action::kAcknowledgementLost:
            return lose_acknowledgement();
        default:
            return qp_.divert(*rule);
    }
}

/// Refuses the request at its target, as if it were at fault.
Outcome Executor::refuse_by_rule(const Rule& rule) {
    Transfer transfer(qp_.entry().transfer, target_.qp_num, remote_key(), is_fenced_);
    transfer_ = &transfer;
    Outcome otherwise{};
    if (!ready(otherwise) && !ready_for_xrc(otherwise)) return otherwise;
    const bool has_receive = takes_receive() && take_receive();
    if (takes_receive() && !has_receive) return {Progress::kNoReceive, IBV_WC_SUCCESS};
    qp_.note_rule();
    if (rule.action == Action::kRemoteAccess) return refuse_access(has_receive);
    if (rule.action == Action::kRemoteInvalidRequest) {
        if (has_receive)
            return fail_receive(IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR, Fault::kInvalidRequest);
        return refuse(IBV_WC_REM_INV_REQ_ERR, Fault::kInvalidRequest);
    }
    if (has_receive)
        return fail_receive(IBV_WC_LOC_QP_OP_ERR, IBV_WC_REM_OP_ERR, Fault::kLocalError);
    return refuse(IBV_WC_REM_OP_ERR, Fault::kLocalError);
}

/// Whether the address handle belongs to the queue pair's protection domain and port is checked
/// first, as without a detour.
[[gnu::noinline]] std::optional<Outcome> DatagramSender::detour(const SendWork& work) {
    const AddressVector& address = *work.address;
    if (address.pd != qp_.domain().number() || address.own_port != port_)
        return done(IBV_WC_LOC_QP_OP_ERR);
    if (qp_.is_cut()) return done(IBV_WC_SUCCESS);
    const faults::Identity* peer = nullptr;
    if (qp_.faults_ && qp_.faults_->needs_peer() && address.is_unicast()) {
        const DatagramTarget& target = targets_.find(static_cast<std::uint32_t>(work.remote_addr));
        if (target.state == DatagramTarget::State::kAsked)
            return Outcome{Progress::kUnresolved, IBV_WC_SUCCESS};
        if (target.state == DatagramTarget::State::kBound) peer = &target.target.peer->identity();
    }
    const Rule* const rule = qp_.rule_for(work, peer);
    if (qp_.faults_ && qp_.faults_->is_silent(peer)) return done(IBV_WC_SUCCESS);
    const bool is_held = held_ && held_->is_full;
    if (!is_held) return rule ? by_rule(*rule, work) : std::nullopt;
    if (rule && rule->action == Action::kReorder) return send_both(work, std::nullopt);
    return send_both(work, rule ? by_rule(*rule, work) : std::nullopt);
}

/// @return nullopt when the datagram is sent as without the rule.
std::optional<Outcome> DatagramSender::by_rule(const Rule& rule, const SendWork& work) {
    if (rule.action == Action::kReorder) return hold(work);
    if (rule.action != Action::kDuplicate) return qp_.divert(rule);
    const Outcome first = send_past_rules(work);
    if (first.progress != Progress::kDone) return first;
    qp_.faults_->settle();
    return std::nullopt;
}

Outcome DatagramSender::send_past_rules(const SendWork& work) {
    open_port_ = port_;
    const Outcome outcome = send(work);
    open_port_ = kNowhere;
    return outcome;
}

/// Completes the request, and keeps a copy of the datagram until the next one has been sent.
Outcome DatagramSender::hold(const SendWork& work) {
    if (work.length > kDatagramMtu) return done(IBV_WC_LOC_LEN_ERR);
    const auto to = static_cast<std::uint32_t>(work.remote_addr);
    if (work.address->is_unicast() && targets_.find(to).state == DatagramTarget::State::kAsked)
        return {Progress::kUnresolved, IBV_WC_SUCCESS};
    if (!plan(work) || !fetch(work)) return done(IBV_WC_LOC_PROT_ERR);
    HeldDatagram& held = *held_;
    gather(held.payload, plan_.locals());
    held.address = *work.address;
    held.segment = {reinterpret_cast<std::uintptr_t>(held.payload),
                    static_cast<std::uint32_t>(work.length), 0};
    held.work = work;
    held.work.flags |= IBV_SEND_INLINE;
    held.work.address = &held.address;
    held.work.segments = &held.segment;
    held.work.num_segments = work.length != 0 ? 1 : 0;
    held.is_full = true;
    return done(IBV_WC_SUCCESS);
}

/// Sends the datagram that was held back behind this one.
/// @param instead what becomes of this one, if it is not sent.
Outcome DatagramSender::send_both(const SendWork& work, const std::optional<Outcome>& instead) {
    const Outcome outcome = instead ? *instead : send_past_rules(work);
    if (outcome.progress != Progress::kDone) return outcome;
    held_->is_full = false;
    (void)send_past_rules(held_->work);
    return outcome;
}

}  // namespace softverbs
