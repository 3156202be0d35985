// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Moves the payload of a request: by plain copies or by the kernel, in pieces, or by the agent
/// at the other end. Its outcome becomes the status of the completion here.
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/verbs/executor.hpp"
#include "providers/soft/softverbs/verbs/target_access.hpp"

namespace softverbs {

/// Reads a short message before anything is done at the target. @return false when the program has
/// unmapped or protected it.
bool Executor::fetch_payload() {
    if (work_.length == 0) return true;
    const Adapter& adapter = qp_.adapter();
    if (resolve_local(adapter.own_pages(), plan_)) {
        payload_ = plan_.local[0].here;
        if (plan_.num_local != 1) {
            gather(gathered_, plan_.locals());
            payload_ = gathered_;
        }
        return true;
    }
    payload_ = adapter.view().base() + qp_.staging();
    return read_into_file(adapter.arena_fd(), qp_.staging(), plan_.locals()) == 0;
}

[[gnu::noinline]] Outcome Executor::move(AgentKind kind, std::uint32_t access) {
    if (kind == AgentKind::kCompareSwap || kind == AgentKind::kFetchAdd) return move_atomic(kind);
    if (choose_path(qp_.adapter().own_pages(), target_, plan_) == Path::kAgent)
        return begin_agent(kind, access);
    const int cause = move_pieces(kind == AgentKind::kRead);
    fault_point(FaultPoint::kPayloadPlaced);
    if (cause == EPERM) return begin_agent(kind, access);  // the peer is no longer dumpable
    return copied(cause);
}

/// Moves the payload in pieces. @return 0 or an errno: EACCES when the target no longer permits it.
int Executor::move_pieces(bool is_read) {
    PeerPages& own = qp_.adapter().own_pages();
    for (std::uint64_t offset = 0; offset < plan_.length; offset += kPiece) {
        if (offset != 0) {
            if (const int cause = begin_next_piece()) return cause;
        }
        Plan piece;
        cut(plan_, offset, std::min(kPiece, plan_.length - offset), piece);
        const int cause =
            is_read ? read_piece(own, target_, piece) : write_piece(own, target_, piece);
        if (cause != 0) return cause;
    }
    return 0;
}

/// Begins the next piece, and checks everything again: the memory's owner may have been waiting for
/// the end of the previous one. @return 0 or an errno: EAGAIN if the region is away, EIDRM if the
/// XRC shared receive queue is gone.
int Executor::begin_next_piece() {
    transfer_->next_piece();
    fault_point(FaultPoint::kNextPiece);
    Outcome otherwise{};
    if (!ready(otherwise) && !ready_for_xrc(otherwise))
        return otherwise.progress == Progress::kDone ? EIDRM : ENOTCONN;
    if (is_still_permitted()) {
        count_use(target_, work_.rkey);  // whoever takes regions away sees that this one is in use
        return 0;
    }
    return !is_send() && ask_for_region() ? EAGAIN : EACCES;
}

bool Executor::is_still_permitted() const {
    if (!is_send()) {
        const RemoteRange& range = plan_.remote[0];
        const bool is_read = work_.opcode == IBV_WR_RDMA_READ;
        return check_remote(is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE, range.named,
                            range.length)
            .permitted;
    }
    const auto holds = [this](const RemoteRange& range) {
        const Segment segment{range.named, static_cast<std::uint32_t>(range.length), range.key};
        return check_receive(qp_.adapter(), target_, segment, range.length).permitted;
    };
    const auto remotes = plan_.remotes();
    return std::all_of(remotes.begin(), remotes.end(), holds);
}

/// Carries out an atomic operation: on shared pages with the processor's atomics, which are atomic
/// with respect to each other and to the agent's; on all other paths under the atomic lock.
Outcome Executor::move_atomic(AgentKind kind) {
    const Path path = choose_atomic_path(target_, plan_);
    if (path == Path::kAgent) return begin_agent(kind, IBV_ACCESS_REMOTE_ATOMIC);
    const RemoteRange& word = plan_.remote[0];
    AtomicRequest request;
    request.address = word.here ? reinterpret_cast<std::uintptr_t>(word.here) : word.address;
    request.is_compare = work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    request.compare_add = work_.atomic.compare_add;
    request.swap = work_.atomic.swap;
    std::uint64_t found = 0;
    int cause = 0;
    if (path == Path::kPlain)
        found = run_atomic_here(request);
    else
        cause = run_locked_atomic(request, found);
    return cause == 0 ? done(deliver_atomic(found)) : copied(cause);
}

int Executor::run_locked_atomic(const AtomicRequest& request, std::uint64_t& found) {
    const AtomicLock lock(target_.arena.header(), qp_.qp_num, qp_.adapter().process());
    if (!lock.held()) return target_.peer->alive() ? EBUSY : ESRCH;
    fault_point(FaultPoint::kAtomicLocked);
    const int cause = run_atomic_in(target_.image(), request, found);
    fault_point(FaultPoint::kAtomicDone);
    return cause;
}

ibv_wc_status Executor::deliver_atomic(std::uint64_t found) {
    const Adapter& adapter = qp_.adapter();
    if (resolve_local(adapter.own_pages(), plan_)) {
        scatter(plan_.locals(), reinterpret_cast<const std::uint8_t*>(&found));
        return IBV_WC_SUCCESS;
    }
    std::memcpy(adapter.view().base() + qp_.staging(), &found, sizeof found);
    const int cause = write_from_file(adapter.arena_fd(), qp_.staging(), plan_.locals());
    return cause == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

/// Concludes the request after the copy of its payload has succeeded or failed. If it failed, whose
/// memory was at fault decides the status.
Outcome Executor::copied(int cause) {
    if (cause == 0) return takes_receive() ? finish_receive(0) : done(IBV_WC_SUCCESS);
    if (cause == ESRCH) return done(IBV_WC_RETRY_EXC_ERR);
    if (cause == EIDRM) return done(IBV_WC_REM_INV_REQ_ERR);
    if (cause == ENOTCONN) return {Progress::kNoAnswer, IBV_WC_SUCCESS};
    if (cause == EBUSY) return {Progress::kLocked, IBV_WC_SUCCESS};
    // The request begins again, like one whose packets were lost.
    if (cause == EAGAIN) return {Progress::kAway, IBV_WC_SUCCESS};
    if (cause != EACCES && !are_there(plan_.locals(), work_.brings_data()))
        return done(IBV_WC_LOC_PROT_ERR);
    if (!is_send()) return refuse_access(has_immediate() && qp_.is_reliable());
    // It is not known which of several segments has lost its memory.
    const RemoteRange& first = plan_.remote[0];
    bad_receive_ = {};
    if (plan_.num_remote == 1)
        bad_receive_ = {first.key, IBV_ACCESS_LOCAL_WRITE, first.address, first.length};
    return fail_receive(IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, Fault::kLocalError);
}

Outcome Executor::begin_agent(AgentKind kind, std::uint32_t access) {
    transfer_->end();
    Adapter& adapter = qp_.adapter();
    if (!agent_) agent_ = std::make_unique<AgentOperation>();
    AgentOperation& operation = *agent_;
    if (operation.buffer == 0) operation.buffer = adapter.arena().allocate(kAgentChunk);
    if (operation.buffer == 0) return done(IBV_WC_GENERAL_ERR);
    operation.kind = kind;
    operation.plan = plan_;
    operation.access = access;
    operation.operands[0] = work_.atomic.compare_add;
    operation.operands[1] = work_.atomic.swap;
    operation.offset = 0;
    operation.slot = slot_;
    operation.busy = true;
    operation.is_answer_lost = false;
    const int cause = send_agent_chunk(adapter, target_, operation, qp_.qp_num);
    if (cause == 0) return {Progress::kAgent, IBV_WC_SUCCESS};
    operation.busy = false;
    return done(cause == EFAULT ? IBV_WC_LOC_PROT_ERR : IBV_WC_RETRY_EXC_ERR);
}

bool Executor::may_go_on() {
    return plan_local(work_.brings_data() ? IBV_ACCESS_LOCAL_WRITE : 0) == Permission::kGranted;
}

/// From here on only arena memory is accessed at the other end. Its queue pair may have changed
/// state while the agent worked.
Outcome Executor::conclude_agent(int status, std::uint64_t found) {
    const Outcome outcome = told(conclude(status, found));
    const bool is_lost = agent_->is_answer_lost && outcome.progress == Progress::kDone &&
                         outcome.status == IBV_WC_SUCCESS;
    return is_lost ? qp_.failed_by_rule(IBV_WC_RETRY_EXC_ERR) : outcome;
}

Outcome Executor::conclude(int status, std::uint64_t found) {
    AgentOperation& operation = *agent_;
    operation.busy = false;
    const Permission local = plan_local(work_.brings_data() ? IBV_ACCESS_LOCAL_WRITE : 0);
    if (local != Permission::kGranted) return without_local(local);
    plan_ = operation.plan;
    slot_ = operation.slot;
    Transfer transfer(qp_.entry().transfer, target_.qp_num, TransferMark::kQueues, is_fenced_);
    transfer_ = &transfer;
    Outcome otherwise{};
    if (!ready(otherwise) && !ready_for_xrc(otherwise))
        return otherwise.progress == Progress::kDone ? otherwise : done(IBV_WC_RETRY_EXC_ERR);
    const bool is_atomic =
        operation.kind == AgentKind::kCompareSwap || operation.kind == AgentKind::kFetchAdd;
    if (status == 0 && is_atomic) return done(deliver_atomic(found));
    return copied(status);
}

}  // namespace softverbs
