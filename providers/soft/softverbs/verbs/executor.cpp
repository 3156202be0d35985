// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/executor.hpp"

#include <time.h>

#include <cstring>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/memory_windows.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/target_access.hpp"
#include "support/log/log.hpp"

namespace softverbs {

Outcome Executor::run() {
    return work_.is_local() ? run_local() : told(attempt());
}

/// Hides from an unreliable request what happened at the other end: a message that does not arrive
/// is lost.
Outcome Executor::told(Outcome outcome) const {
    if (qp_.is_reliable() || outcome.progress >= Progress::kAgent) return outcome;
    const bool failed_here =
        outcome.progress == Progress::kDone &&
        (outcome.status == IBV_WC_LOC_PROT_ERR || outcome.status == IBV_WC_LOC_LEN_ERR ||
         outcome.status == IBV_WC_WR_FLUSH_ERR || outcome.status == IBV_WC_GENERAL_ERR);
    return failed_here ? outcome : done(IBV_WC_SUCCESS);
}

Outcome Executor::attempt() {
    if (!target_.peer->alive()) return {Progress::kNoAnswer, IBV_WC_SUCCESS};
    if (has_detour_) [[unlikely]]
        if (const auto instead = detour()) return *instead;
    return go();
}

inline Outcome Executor::go() {
    Transfer transfer(qp_.entry().transfer, target_.qp_num, remote_key(), is_fenced_);
    transfer_ = &transfer;
    Outcome otherwise{};
    if (!ready(otherwise)) return attempt_xrc(otherwise);
    return execute();
}

/// Carries out the request, and fails it all the same, as a fault rule asks.
[[gnu::noinline]] Outcome Executor::lose_acknowledgement() {
    const Outcome outcome = go();
    if (outcome.progress == Progress::kAgent) agent_->is_answer_lost = true;
    if (outcome.progress != Progress::kDone || outcome.status != IBV_WC_SUCCESS) return outcome;
    return qp_.failed_by_rule(IBV_WC_RETRY_EXC_ERR);
}

/// Separate from attempt(), so that the path of other requests is no longer.
[[gnu::noinline]] Outcome Executor::attempt_xrc(Outcome otherwise) {
    return ready_for_xrc(otherwise) ? execute() : otherwise;
}

/// @return the key for the transfer's mark. A send learns from the receive which memory it
/// accesses.
std::uint32_t Executor::remote_key() const {
    return is_send() ? TransferMark::kQueues : work_.rkey;
}

bool Executor::ready(Outcome& otherwise) {
    const QpEntry& entry = *target_.entry;
    otherwise = {Progress::kNoAnswer, IBV_WC_SUCCESS};
    if (entry.generation.load(std::memory_order_seq_cst) != target_.generation) return false;
    Readiness found = entry.readiness.load(std::memory_order_seq_cst);
    if (found == Readiness::kNotReady) found = ask_when_ready(otherwise);
    if (found == Readiness::kExpectant) found = establish();
    return found == Readiness::kReady &&
           entry.dest_qp_num.load(std::memory_order_acquire) == qp_.qp_num;
}

/// Asks the owner for a kick when it becomes ready, then checks again, as it may just have done so.
[[gnu::noinline]] Readiness Executor::ask_when_ready(Outcome& otherwise) {
    target_.entry->waiting.store(1, std::memory_order_seq_cst);
    const Readiness found = target_.entry->readiness.load(std::memory_order_seq_cst);
    if (found == Readiness::kNotReady) otherwise = {Progress::kNotReady, IBV_WC_SUCCESS};
    return found;
}

/// Tells the owner, once, that the first request has come before it sends itself.
[[gnu::noinline]] Readiness Executor::establish() const {
    Readiness found = Readiness::kExpectant;
    if (!target_.entry->readiness.compare_exchange_strong(found, Readiness::kReady,
                                                          std::memory_order_seq_cst))
        return found;
    target_.entry->established.store(1, std::memory_order_seq_cst);
    target_.kick_qp();
    return Readiness::kReady;
}

/// Reports a number of another process, which adapters accept if it has the same domain open.
void Executor::report_other_owner() const {
    Index& index = qp_.adapter().process().index();
    const auto owner = index.owner_of_block(work_.srq_num / kQpsPerBlock);
    if (!owner || owner->id == target_.peer->member().id) return;
    support::report<support::kXrcElsewhere>(work_.srq_num, target_.qp_num, target_.peer->pid());
}

/// Decides in ready()'s place for an XRC request, which also needs the shared receive queue that it
/// names. Others leave ready() by success and never come here.
[[gnu::noinline]] bool Executor::ready_for_xrc(Outcome& otherwise) {
    const QpEntry& entry = *target_.entry;
    const bool is_ready = qp_.qp_type == IBV_QPT_XRC_SEND &&
                          entry.generation.load(std::memory_order_seq_cst) == target_.generation &&
                          entry.readiness.load(std::memory_order_seq_cst) == Readiness::kXrcReady &&
                          entry.dest_qp_num.load(std::memory_order_acquire) == qp_.qp_num;
    if (!is_ready) return false;
    if (qp_.aim(work_.srq_num)) return true;
    report_other_owner();
    otherwise = refuse(IBV_WC_REM_INV_REQ_ERR, Fault::kInvalidRequest);
    return false;
}

/// Carries out a request in which the other end takes no part.
Outcome Executor::run_local() {
    if (work_.opcode == IBV_WR_BIND_MW) return bind_window(qp_, work_);
    return invalidate_window(qp_, work_.imm_data);
}

Outcome Executor::execute() {
    if (work_.length > kMaxMessage) return done(IBV_WC_LOC_LEN_ERR);
    switch (work_.opcode) {
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
        case IBV_WR_SEND_WITH_INV:
            return send();
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            return write();
        case IBV_WR_RDMA_READ:
            return read();
        default:
            return atomic();
    }
}

/// Carries out a send. A short message travels in the queues, and its receiver places it.
[[gnu::flatten]] Outcome Executor::send() {
    if (const Permission local = plan_local(0); local != Permission::kGranted)
        return without_local(local);
    const bool is_short = work_.length <= qp_.adapter().longest_inline();
    if (is_short && !fetch_payload()) return done(IBV_WC_LOC_PROT_ERR);
    if (!take_receive()) return {Progress::kNoReceive, IBV_WC_SUCCESS};
    const std::uint32_t longest_in_entry = target_.longest_in_entry();
    if (is_short && work_.length <= longest_in_entry &&
        first_segment_holds(qp_.adapter(), target_, receive_, work_.length))
        return finish_receive(work_.length != 0 ? kInEntry : 0);
    bool responder_failed = false;
    ibv_wc_status refused = plan_receive(responder_failed);
    while (refused == IBV_WC_WR_FLUSH_ERR) [[unlikely]] {
            publish_receive(IBV_WC_WR_FLUSH_ERR, 0);
            if (!take_receive()) return {Progress::kNoReceive, IBV_WC_SUCCESS};
            refused = plan_receive(responder_failed);
        }
    if (responder_failed) {
        // On an unreliable queue pair a message that does not fit is lost: the receive waits for
        // the next one.
        if (!qp_.is_reliable() && refused == IBV_WC_LOC_LEN_ERR) return done(IBV_WC_SUCCESS);
        const bool is_too_long = refused == IBV_WC_LOC_LEN_ERR;
        return fail_receive(refused, is_too_long ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR,
                            Fault::kLocalError);
    }
    if (!is_short) return move(AgentKind::kWrite, IBV_ACCESS_LOCAL_WRITE);
    if (work_.length <= longest_in_entry) return finish_receive(kInEntry);
    std::memcpy(slot_inline(receive_, target_.receives.stride), payload_, work_.length);
    fault_point(FaultPoint::kPayloadPlaced);
    return finish_receive(kInSlot);
}

Outcome Executor::write() {
    if (const Permission local = plan_local(0); local != Permission::kGranted)
        return without_local(local);
    const Permission remote = plan_remote(IBV_ACCESS_REMOTE_WRITE, work_.length);
    if (remote != Permission::kGranted)
        return without_remote(remote, has_immediate() && qp_.is_reliable());
    if (has_immediate() && !take_receive()) return {Progress::kNoReceive, IBV_WC_SUCCESS};
    if (work_.length == 0) return copied(0);
    return move(AgentKind::kWrite, IBV_ACCESS_REMOTE_WRITE);
}

Outcome Executor::read() {
    if (const Permission local = plan_local(IBV_ACCESS_LOCAL_WRITE); local != Permission::kGranted)
        return without_local(local);
    const Permission remote = plan_remote(IBV_ACCESS_REMOTE_READ, work_.length);
    if (remote != Permission::kGranted) return without_remote(remote, false);
    if (work_.length == 0) return copied(0);
    return move(AgentKind::kRead, IBV_ACCESS_REMOTE_READ);
}

Outcome Executor::atomic() {
    if (work_.length != sizeof(std::uint64_t)) return done(IBV_WC_LOC_LEN_ERR);
    if (const Permission local = plan_local(IBV_ACCESS_LOCAL_WRITE); local != Permission::kGranted)
        return without_local(local);
    if (work_.remote_addr % sizeof(std::uint64_t) != 0)
        return refuse(IBV_WC_REM_INV_REQ_ERR, Fault::kInvalidRequest);
    const Permission remote = plan_remote(IBV_ACCESS_REMOTE_ATOMIC, work_.length);
    if (remote != Permission::kGranted) return without_remote(remote, false);
    const AgentKind kind =
        work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? AgentKind::kCompareSwap : AgentKind::kFetchAdd;
    return move(kind, IBV_ACCESS_REMOTE_ATOMIC);
}

Executor::Permission Executor::plan_local(std::uint32_t access) {
    plan_.length = work_.length;
    plan_.num_local = work_.num_segments;
    for (std::uint32_t i = 0; i < work_.num_segments; ++i) {
        const Segment& segment = work_.segments[i];
        if (work_.is_inline() || segment.length == 0) {
            plan_.local[i] = {segment.address,
                              segment.length,
                              {},
                              reinterpret_cast<std::uint8_t*>(segment.address)};
            continue;
        }
        CheckedRange range = check_local(segment, access);
        if (!range.permitted) [[unlikely]] {
            if (ask_own_process(segment.key)) return Permission::kAway;
            range = check_local(segment, access);  // it may have come back
            if (!range.permitted) return Permission::kRefused;
        }
        plan_.local[i] = {range.address, segment.length, range.shared, nullptr};
    }
    return Permission::kGranted;
}

CheckedRange Executor::check_local(const Segment& segment, std::uint32_t access) const {
    return check_own_key(qp_.adapter(), segment.key, qp_.domain().number(), access, segment.address,
                         segment.length);
}

/// @return the outcome of a request whose remote memory may not be used, or not now.
/// @param takes_receive whether a refusal completes a receive of the responder's.
Outcome Executor::without_remote(Permission permission, bool takes_receive) {
    if (permission == Permission::kAway) return {Progress::kAway, IBV_WC_SUCCESS};
    if (permission == Permission::kNotTaken)
        return refuse(IBV_WC_REM_INV_REQ_ERR, Fault::kInvalidRequest);
    return refuse_access(takes_receive && take_receive());
}

/// Does the same for local memory.
Outcome Executor::without_local(Permission permission) {
    if (permission == Permission::kAway) return {Progress::kAway, IBV_WC_SUCCESS};
    return done(IBV_WC_LOC_PROT_ERR);
}

CheckedRange Executor::check_remote(std::uint32_t access, std::uint64_t address,
                                    std::uint64_t length) const {
    return softverbs::check_remote(qp_.adapter(), target_, work_.rkey, access, address, length);
}

Executor::Permission Executor::plan_remote(std::uint32_t access, std::uint64_t length) {
    if (!is_permitted(access, length)) return ask_again(access, length);
    count_use(target_, work_.rkey);
    return Permission::kGranted;
}

/// Finds out whether a request is refused, or waits for a region that is away. If it came back
/// after the first look, the second one sees it.
[[gnu::noinline]] Executor::Permission Executor::ask_again(std::uint32_t access,
                                                           std::uint64_t length) {
    if (!is_taken()) return Permission::kNotTaken;
    if (ask_for_region()) return Permission::kAway;
    if (is_permitted(access, length)) return Permission::kGranted;
    return ask_for_region() ? Permission::kAway : Permission::kRefused;
}

/// Asks the owner of the remote region, if it is away, to bring it back, and for a kick when it is
/// there. @return false if it is not away.
bool Executor::ask_for_region() const {
    MrEntry& entry = target_.arena.mr(work_.rkey);
    if (!is_away(entry, work_.rkey)) return false;
    target_.entry->waiting.store(1, std::memory_order_seq_cst);
    if (!mark_as_wanted(entry)) return false;
    fault_point(FaultPoint::kRegionWanted);
    target_.want_regions();  // each time: whoever asked before may have died here
    return true;
}

/// The same for a region of this process.
[[gnu::noinline]] bool Executor::ask_own_process(std::uint32_t key) const {
    const Adapter& adapter = qp_.adapter();
    MrEntry& entry = adapter.view().mr(key);
    if (!is_away(entry, key) || !mark_as_wanted(entry)) return false;
    adapter.view().header().regions_wanted.store(1, std::memory_order_seq_cst);
    adapter.process().self()->ring_doorbell();
    return true;
}

void note_use(const Target& target, const MrEntry& named) {
    verbs::RegionUses& uses = target.arena.mr(named.region.load(std::memory_order_relaxed)).uses;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    constexpr std::uint64_t kSecond = 1'000'000'000;
    uses.last.store(
        static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec),
        std::memory_order_relaxed);
    uses.count.store(uses.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Whether the responder's queue pair takes requests of this kind, whatever memory they name.
bool Executor::is_taken() const {
    const std::uint32_t taken = target_.entry->access.load(std::memory_order_acquire);
    return (taken & remote_right(work_.opcode)) != 0;
}

/// A zero-byte request has no address and no key to check.
bool Executor::is_permitted(std::uint32_t access, std::uint64_t length) {
    if (!is_taken()) return false;
    if (length == 0) return true;
    const CheckedRange range = check_remote(access, work_.remote_addr, length);
    plan_.remote[0] = {range.address, length, work_.remote_addr, work_.rkey, range.shared, nullptr};
    plan_.num_remote = 1;
    return range.permitted;
}

bool Executor::take_receive() {
    QpEntry& entry = *target_.entry;
    const auto try_take = [&] {
        if (target_.receives.shared) {
            bool limit_reached = false;
            receive_ = take_shared_receive(target_.receives, target_.qp_num, slot_, limit_reached);
            if (limit_reached) target_.kick_srq();
            return receive_ != nullptr;
        }
        slot_ = entry.consumed.load(std::memory_order_relaxed);
        receive_ = target_.receives.slot(slot_);
        return is_posted(*receive_, slot_);
    };
    if (try_take()) return true;
    entry.waiting.store(1, std::memory_order_seq_cst);
    fault_point(FaultPoint::kWaitingSet);
    if (target_.receives.shared) target_.receives.shared->waiting.store(1);
    return try_take();
}

/// @return the key for the transfer's mark: the one key of the receive's segments, kReceives if
/// they have several, kQueues if there are none.
std::uint32_t Executor::receive_key() const {
    const std::uint32_t count = std::min(receive_->num_sge, target_.receives.max_sge);
    const Segment* const segments = slot_segments(receive_);
    for (std::uint32_t i = 1; i < count; ++i) {
        if (segments[i].key != segments[0].key) return TransferMark::kReceives;
    }
    return count != 0 ? segments[0].key : TransferMark::kQueues;
}

/// Plans the copy to the receive's segments, each read once from the peer's arena and checked in
/// its table. A message that is moved is marked with their key.
/// @return IBV_WC_WR_FLUSH_ERR for a receive to be skipped (refusal_of()).
[[gnu::noinline]] ibv_wc_status Executor::plan_receive(bool& responder_failed) {
    responder_failed = true;
    bad_receive_ = {};
    plan_.num_remote = 0;
    if (work_.length > qp_.adapter().longest_inline()) transfer_->widen(receive_key());
    const std::uint32_t count = std::min(receive_->num_sge, target_.receives.max_sge);
    std::uint64_t left = work_.length;
    for (std::uint32_t i = 0; i < count && left != 0; ++i) {
        const Segment segment = slot_segments(receive_)[i];
        const std::uint64_t part = std::min<std::uint64_t>(segment.length, left);
        if (part == 0) continue;
        const CheckedRange range = check_receive(qp_.adapter(), target_, segment, part);
        if (!range.permitted) {
            bad_receive_ = {segment.key, IBV_ACCESS_LOCAL_WRITE, segment.address, part};
            return refusal_of(target_.arena, segment.key);
        }
        plan_.remote[plan_.num_remote++] = {range.address, part,         segment.address,
                                            segment.key,   range.shared, nullptr};
        left -= part;
    }
    if (left != 0) return IBV_WC_LOC_LEN_ERR;
    responder_failed = false;
    return IBV_WC_SUCCESS;
}

Outcome Executor::finish_receive(std::uint8_t flags) {
    if (work_.opcode == IBV_WR_SEND_WITH_INV && !invalidate_at_target(target_, work_.imm_data)) {
        if (!qp_.is_reliable()) return refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
        return fail_receive(IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
    }
    publish_receive(IBV_WC_SUCCESS, flags);
    return done(IBV_WC_SUCCESS);
}

void Executor::publish_receive(ibv_wc_status status, std::uint8_t flags) {
    Completion completion;
    completion.byte_len = static_cast<std::uint32_t>(work_.length);
    completion.position = slot_;
    completion.status = static_cast<std::uint8_t>(status);
    const bool is_write = work_.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    completion.opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM - IBV_WC_RECV : 0;
    if (has_immediate()) {
        completion.imm_data = work_.imm_data;
        completion.wc_flags = IBV_WC_WITH_IMM;
    }
    if (work_.opcode == IBV_WR_SEND_WITH_INV && status == IBV_WC_SUCCESS) {
        completion.imm_data = work_.imm_data;
        completion.wc_flags = IBV_WC_WITH_INV;
    }
    completion.flags = flags;
    if ((work_.flags & IBV_SEND_SOLICITED) != 0) completion.flags |= kSolicited;
    qp_.complete_at_target(completion, payload_);
}

/// Fails the request, and makes the responder's service thread fail its queue pair too. An
/// unreliable responder fails for its own faults only.
[[gnu::noinline]] Outcome Executor::refuse(ibv_wc_status status, Fault fault) {
    if (!qp_.is_reliable() && fault != Fault::kLocalError) return done(status);
    note_fault(fault);
    fault_point(FaultPoint::kFaultTold);
    target_.kick_qp();
    return done(status);
}

void Executor::note_fault(Fault fault) const {
    const Asked asked = fault == Fault::kLocalError ? bad_receive_ : asked_by(work_);
    target_.entry->refused = {asked.address, asked.length, asked.key, asked.rights};
    target_.note_fault(fault);
}

/// Completes the receive and the request with errors. The fault is noted first, so that whoever
/// polls the receive finds out why its queue pair fails.
[[gnu::noinline]] Outcome Executor::fail_receive(ibv_wc_status there, ibv_wc_status here,
                                                 Fault fault) {
    note_fault(fault);
    publish_receive(there, 0);
    return refuse(here, fault);
}

/// Refuses access to memory at the other end. A write with immediate data completes a receive there
/// all the same, which reports the error.
[[gnu::noinline]] Outcome Executor::refuse_access(bool has_receive) {
    return has_receive ? fail_receive(IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR, Fault::kAccess)
                       : refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
}

}  // namespace softverbs
