// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/executor.hpp"

#include <cerrno>

#include "providers/soft/verbs/fault_points.hpp"
#include "providers/soft/verbs/memory_regions.hpp"
#include "providers/soft/verbs/memory_windows.hpp"
#include "providers/soft/verbs/query.hpp"

namespace softverbs {
namespace {

std::uint32_t remote_access(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            return IBV_ACCESS_REMOTE_WRITE;
        case IBV_WR_RDMA_READ:
            return IBV_ACCESS_REMOTE_READ;
        default:
            return IBV_ACCESS_REMOTE_ATOMIC;
    }
}

}  // namespace

bool Executor::has_immediate() const {
    return work_.opcode == IBV_WR_SEND_WITH_IMM || work_.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool Executor::is_send() const {
    return work_.opcode == IBV_WR_SEND || work_.opcode == IBV_WR_SEND_WITH_IMM ||
           work_.opcode == IBV_WR_SEND_WITH_INV;
}

bool Executor::takes_receive() const {
    return is_send() || has_immediate();
}

/// Nothing at the other end takes part.
Outcome Executor::run_local() {
    if (work_.opcode == IBV_WR_BIND_MW) return done(bind_window(qp_, work_));
    return done(invalidate_window(qp_, work_.imm_data));
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

[[gnu::flatten]] Outcome Executor::send() {
    if (!plan_local(0)) return done(IBV_WC_LOC_PROT_ERR);
    if (!take_receive()) return {Progress::kNoReceive, IBV_WC_SUCCESS};
    if (work_.length <= kEntryInlineBytes && first_segment_holds())
        return finish_receive(work_.length != 0 ? kInEntry : 0);
    bool responder_failed = false;
    const ibv_wc_status refused = plan_receive(responder_failed);
    if (responder_failed) {
        // One that does not fit is as good as lost: the receive waits for the next.
        if (!qp_.is_reliable() && refused == IBV_WC_LOC_LEN_ERR) return done(IBV_WC_SUCCESS);
        publish_receive(refused, 0);
        return refused == IBV_WC_LOC_LEN_ERR ? refuse(IBV_WC_REM_INV_REQ_ERR, Fault::kLocalError)
                                             : refuse(IBV_WC_REM_OP_ERR, Fault::kLocalError);
    }
    if (work_.length > kSlotInlineBytes) return move(AgentKind::kWrite, IBV_ACCESS_LOCAL_WRITE);
    if (work_.length <= kEntryInlineBytes) return finish_receive(kInEntry);
    gather(slot_inline(receive_, target_.receives.stride), plan_.locals(), 0, work_.length);
    fault_point(FaultPoint::kPayloadPlaced);
    return finish_receive(kInSlot);
}

Outcome Executor::write() {
    if (!plan_local(0)) return done(IBV_WC_LOC_PROT_ERR);
    if (!plan_remote(IBV_ACCESS_REMOTE_WRITE, work_.length))
        return refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
    if (has_immediate() && !take_receive()) return {Progress::kNoReceive, IBV_WC_SUCCESS};
    if (work_.length == 0) return copied(0);
    return move(AgentKind::kWrite, IBV_ACCESS_REMOTE_WRITE);
}

Outcome Executor::read() {
    if (!plan_local(IBV_ACCESS_LOCAL_WRITE)) return done(IBV_WC_LOC_PROT_ERR);
    if (!plan_remote(IBV_ACCESS_REMOTE_READ, work_.length))
        return refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
    if (work_.length == 0) return copied(0);
    return move(AgentKind::kRead, IBV_ACCESS_REMOTE_READ);
}

Outcome Executor::atomic() {
    if (work_.length != sizeof(std::uint64_t)) return done(IBV_WC_LOC_LEN_ERR);
    if (!plan_local(IBV_ACCESS_LOCAL_WRITE)) return done(IBV_WC_LOC_PROT_ERR);
    if (work_.remote_addr % sizeof(std::uint64_t) != 0)
        return refuse(IBV_WC_REM_INV_REQ_ERR, Fault::kInvalidRequest);
    if (!plan_remote(IBV_ACCESS_REMOTE_ATOMIC, work_.length))
        return refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
    const AgentKind kind =
        work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? AgentKind::kCompareSwap : AgentKind::kFetchAdd;
    return move(kind, IBV_ACCESS_REMOTE_ATOMIC);
}

bool Executor::plan_local(std::uint32_t access) {
    plan_.length = work_.length;
    plan_.num_local = work_.num_segments;
    for (std::uint32_t i = 0; i < work_.num_segments; ++i) {
        const Segment& segment = work_.segments[i];
        if (work_.is_inline() || segment.length == 0) {
            plan_.local[i] = {segment.address, segment.length};
            continue;
        }
        const CheckedRange range = check_own_key(qp_.adapter(), segment.key, qp_.domain().number(),
                                                 access, segment.address, segment.length);
        if (!range.permitted) return false;
        plan_.local[i] = {range.address, segment.length};
    }
    return true;
}

/// A request of no bytes has no address and no key to check.
bool Executor::plan_remote(std::uint32_t access, std::uint64_t length) {
    const QpEntry& entry = *target_.entry;
    const std::uint32_t permitted = entry.access.load(std::memory_order_acquire);
    if ((permitted & remote_access(work_.opcode)) == 0) return false;
    if (length == 0) return true;
    const Access wanted{entry.pd, access, target_.qp_num, target_.generation};
    const CheckedRange range =
        target_.peer->is_self()
            ? check_own_remote_key(qp_.adapter(), work_.rkey, wanted, work_.remote_addr, length)
            : check_remote_key(target_.arena, work_.rkey, wanted, work_.remote_addr, length);
    plan_.remote[0] = {range.address, length, work_.remote_addr, work_.rkey, range.shared};
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
        return receive_->taker.load(std::memory_order_seq_cst) == (kSlotPosted | slot_);
    };
    has_slot_ = try_take();
    if (has_slot_) return true;
    entry.waiting.store(1, std::memory_order_seq_cst);
    fault_point(FaultPoint::kWaitingSet);
    if (target_.receives.shared) target_.receives.shared->waiting.store(1);
    has_slot_ = try_take();
    return has_slot_;
}

/// The first `length` bytes of one of a receive's segments.
CheckedRange Executor::check_receive(const Segment& segment, std::uint64_t length) const {
    const SrqHeader* shared = target_.receives.shared;
    const std::uint32_t pd = shared ? shared->pd : target_.entry->pd;
    constexpr std::uint32_t kAccess = IBV_ACCESS_LOCAL_WRITE;
    if (target_.peer->is_self())
        return check_own_key(qp_.adapter(), segment.key, pd, kAccess, segment.address, length);
    return check_key(target_.arena, segment.key, pd, kAccess, segment.address, length);
}

/// Of a short message most often. If not, plan_receive finds out what is wrong, if anything is.
bool Executor::first_segment_holds() const {
    if (work_.length == 0) return true;
    const Segment segment = slot_segments(receive_)[0];
    if (receive_->num_sge == 0 || segment.length < work_.length) return false;
    return check_receive(segment, work_.length).permitted;
}

/// The receive's segments, copied once from the peer's arena and checked in its table.
[[gnu::noinline]] ibv_wc_status Executor::plan_receive(bool& responder_failed) {
    responder_failed = true;
    const std::uint32_t count = std::min(receive_->num_sge, target_.receives.max_sge);
    std::uint64_t left = work_.length;
    for (std::uint32_t i = 0; i < count && left != 0; ++i) {
        const Segment segment = slot_segments(receive_)[i];
        const std::uint64_t part = std::min<std::uint64_t>(segment.length, left);
        if (part == 0) continue;
        const CheckedRange range = check_receive(segment, part);
        if (!range.permitted) return IBV_WC_LOC_PROT_ERR;
        plan_.remote[plan_.num_remote++] = {range.address, part, segment.address, segment.key,
                                            range.shared};
        left -= part;
    }
    if (left != 0) return IBV_WC_LOC_LEN_ERR;
    responder_failed = false;
    return IBV_WC_SUCCESS;
}

[[gnu::noinline]] Outcome Executor::move(AgentKind kind, std::uint32_t access) {
    if (kind == AgentKind::kCompareSwap || kind == AgentKind::kFetchAdd) return move_atomic(kind);
    const bool is_read = kind == AgentKind::kRead;
    const Way way = choose_way(target_, plan_);
    if (way == Way::kAgent) return begin_agent(kind, access);
    if (way == Way::kHere) {
        is_read ? read_local(plan_) : write_local(plan_);
        return copied(0);
    }
    const int cause = is_read ? read_from_target(target_, plan_) : write_to_target(target_, plan_);
    fault_point(FaultPoint::kPayloadPlaced);
    if (cause == EPERM) return begin_agent(kind, access);  // it stopped being dumpable
    return copied(cause);
}

/// On shared pages the processor's atomics, which go together with each other and the agent's; all
/// other ways go together by the lock.
Outcome Executor::move_atomic(AgentKind kind) {
    const Way way = choose_atomic_way(target_, plan_);
    if (way == Way::kAgent) return begin_agent(kind, IBV_ACCESS_REMOTE_ATOMIC);
    AtomicRequest request;
    request.address = plan_.remote[0].address;
    request.is_compare = work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    request.compare_add = work_.compare_add;
    request.swap = work_.swap;
    std::uint64_t found = 0;
    const bool is_shared = way == Way::kHere && target_.path != CopyPath::kLocal;
    const int cause =
        is_shared ? (found = run_atomic_here(request), 0) : run_locked_atomic(request, way, found);
    return cause == 0 ? done(deliver_atomic(found)) : copied(cause);
}

int Executor::run_locked_atomic(const AtomicRequest& request, Way way, std::uint64_t& found) {
    const AtomicLock lock(target_.arena.header(), target_.qp_num);
    if (!lock.held()) return target_.peer->alive() ? EBUSY : ESRCH;
    fault_point(FaultPoint::kAtomicLocked);
    int cause = 0;
    if (way == Way::kProcessVm)
        cause = run_atomic_in(target_.peer->pid(), request, found);
    else
        found = run_atomic_here(request);
    fault_point(FaultPoint::kAtomicDone);
    return cause;
}

ibv_wc_status Executor::deliver_atomic(std::uint64_t found) {
    scatter(plan_.locals(), reinterpret_cast<const std::uint8_t*>(&found), 0, sizeof found);
    return IBV_WC_SUCCESS;
}

/// What follows the payload, or its failure: whose memory it was decides the status.
Outcome Executor::copied(int cause) {
    if (cause == 0) return takes_receive() ? finish_receive(0) : done(IBV_WC_SUCCESS);
    if (cause == ESRCH) return done(IBV_WC_RETRY_EXC_ERR);
    if (cause == EBUSY) return {Progress::kLocked, IBV_WC_SUCCESS};
    if (!all_mapped(plan_.locals())) return done(IBV_WC_LOC_PROT_ERR);
    if (!is_send()) return refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
    publish_receive(IBV_WC_LOC_PROT_ERR, 0);
    return refuse(IBV_WC_REM_OP_ERR, Fault::kLocalError);
}

Outcome Executor::finish_receive(std::uint8_t flags) {
    if (work_.opcode == IBV_WR_SEND_WITH_INV && !invalidate_at_target(target_, work_.imm_data)) {
        if (qp_.is_reliable()) publish_receive(IBV_WC_REM_INV_REQ_ERR, 0);
        return refuse(IBV_WC_REM_ACCESS_ERR, Fault::kAccess);
    }
    publish_receive(IBV_WC_SUCCESS, flags);
    return done(IBV_WC_SUCCESS);
}

void Executor::publish_receive(ibv_wc_status status, std::uint8_t flags) {
    Completion completion;
    completion.byte_len = static_cast<std::uint32_t>(work_.length);
    completion.qp_num = target_.qp_num;
    completion.src_qp = qp_.qp_num;
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
    CompletionRing& ring = target_.completion_ring();
    const CompletionRing::Place place = ring.claim(target_.qp_num, Producer::kRequester);
    if (!target_.receives.shared)
        target_.entry->consumed.store(slot_ + 1, std::memory_order_release);
    fault_point(FaultPoint::kReceiveConsumed);
    if (!place.entry) {
        target_.completions->overrun.store(1, std::memory_order_release);
        return target_.kick_cq();
    }
    if ((flags & kInEntry) != 0) fill_in(place.entry->payload);
    fault_point(FaultPoint::kPayloadPlaced);
    if (ring.publish(place, completion)) target_.wake_channel();
}

void Executor::fill_in(std::uint8_t* payload) const {
    if (plan_.num_local != 1) return gather(payload, plan_.locals(), 0, work_.length);
    copy_short(payload, reinterpret_cast<const void*>(plan_.local[0].address), work_.length);
}

/// The responder's queue pair breaks too: its service thread sees to it. An unreliable one breaks
/// by its own faults only.
[[gnu::noinline]] Outcome Executor::refuse(ibv_wc_status status, Fault fault) {
    if (!qp_.is_reliable() && fault != Fault::kLocalError) return done(status);
    target_.entry->fault.store(fault, std::memory_order_seq_cst);
    fault_point(FaultPoint::kFaultTold);
    target_.kick_qp();
    return done(status);
}

Outcome Executor::begin_agent(AgentKind kind, std::uint32_t access) {
    Adapter& adapter = qp_.adapter();
    if (!agent_) agent_ = std::make_unique<AgentOperation>();
    AgentOperation& operation = *agent_;
    if (operation.buffer == 0) operation.buffer = adapter.arena().allocate(kAgentChunk);
    if (operation.buffer == 0) return done(IBV_WC_GENERAL_ERR);
    operation.kind = kind;
    operation.plan = plan_;
    operation.access = access;
    operation.operands[0] = work_.compare_add;
    operation.operands[1] = work_.swap;
    operation.offset = 0;
    operation.slot = slot_;
    operation.has_slot = has_slot_;
    operation.busy = true;
    if (send_agent_chunk(adapter, target_, operation, qp_.qp_num) != 0)
        return done(IBV_WC_RETRY_EXC_ERR);
    return {Progress::kAgent, IBV_WC_SUCCESS};
}

bool Executor::may_go_on() {
    const bool brings_data = work_.opcode == IBV_WR_RDMA_READ ||
                             work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                             work_.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    return plan_local(brings_data ? IBV_ACCESS_LOCAL_WRITE : 0);
}

/// Only arena memory is touched from here on, and the queue pair at the other end may have changed
/// its state while the agent worked.
Outcome Executor::conclude_agent(int status, std::uint64_t found) {
    return told(conclude(status, found));
}

Outcome Executor::conclude(int status, std::uint64_t found) {
    AgentOperation& operation = *agent_;
    operation.busy = false;
    if (!may_go_on()) return done(IBV_WC_LOC_PROT_ERR);
    plan_ = operation.plan;
    slot_ = operation.slot;
    has_slot_ = operation.has_slot;
    Busy busy(*target_.entry);
    Outcome otherwise{};
    if (!ready(otherwise)) return done(IBV_WC_RETRY_EXC_ERR);
    const bool is_atomic =
        operation.kind == AgentKind::kCompareSwap || operation.kind == AgentKind::kFetchAdd;
    if (status == 0 && is_atomic) return done(deliver_atomic(found));
    return copied(status);
}

}  // namespace softverbs
