// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How each request begins, and the fast path for the usual ones: a short send, read, write or
/// atomic operation with one segment, on memory that this process reaches by a pointer. It needs no
/// plan.
/// All other requests, and all in which something is wrong, take the general path (executor.cpp)
/// from its beginning: by then the fast path has changed nothing.
#include <cstring>

#include "providers/soft/softverbs/verbs/executor.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

namespace softverbs {
namespace {

/// Longest request of the fast path, in bytes: longer ones gain little.
constexpr std::uint64_t kLongest = 4096;

/// Copies one word or some bytes, so that whoever polls the last of them sees all.
void place(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length) {
    std::uint64_t word;
    if (length != sizeof word || reinterpret_cast<std::uintptr_t>(to) % sizeof word != 0)
        return ordered_copy(to, from, length);
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
}

}  // namespace

[[gnu::flatten]] Outcome Executor::run() {
    return work_.is_local() ? run_local() : told(attempt());
}

/// Hides from an unreliable request what happened at the other end: a message that does not arrive
/// is lost.
Outcome Executor::told(Outcome outcome) const {
    if (qp_.is_reliable() || outcome.progress == Progress::kAgent) return outcome;
    const bool failed_here =
        outcome.progress == Progress::kDone &&
        (outcome.status == IBV_WC_LOC_PROT_ERR || outcome.status == IBV_WC_LOC_LEN_ERR ||
         outcome.status == IBV_WC_GENERAL_ERR);
    return failed_here ? outcome : done(IBV_WC_SUCCESS);
}

Outcome Executor::attempt() {
    if (!target_.peer->alive()) return {Progress::kNoAnswer, IBV_WC_SUCCESS};
    Transfer transfer(qp_.entry().transfer, target_.qp_num, remote_key(), is_fenced_);
    transfer_ = &transfer;
    Outcome otherwise{};
    if (!ready(otherwise)) return otherwise;
    return move_directly() ? done(IBV_WC_SUCCESS) : execute();
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

/// Tries the fast path. @return false when the request does not fit it, or a check fails.
bool Executor::move_directly() {
    if (work_.num_segments != 1 || work_.length == 0 || work_.length > kLongest) return false;
    bool moved = false;
    switch (work_.opcode) {
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
            return send_directly();
        case IBV_WR_RDMA_WRITE:
            moved = write_directly();
            break;
        case IBV_WR_RDMA_READ:
            moved = read_directly();
            break;
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
        case IBV_WR_ATOMIC_CMP_AND_SWP:
            moved = run_atomic_directly();
            break;
        default:
            break;
    }
    if (moved) count_use();
    return moved;
}

/// @param access IBV_ACCESS_* bits, all of which are needed.
/// @return the local segment; nullptr when access is not permitted, or plain copies do not reach
/// it.
std::uint8_t* Executor::local_bytes(std::uint32_t access) const {
    const Segment& segment = work_.segments[0];
    if (work_.is_inline()) return reinterpret_cast<std::uint8_t*>(segment.address);
    const Adapter& adapter = qp_.adapter();
    const CheckedRange range = check_own_key(adapter, segment.key, qp_.domain().number(), access,
                                             segment.address, segment.length);
    if (!range.permitted) return nullptr;
    return adapter.own_pages().find(range.shared, range.address, segment.length);
}

CheckedRange Executor::check_remote(std::uint32_t access, std::uint64_t address,
                                    std::uint64_t length) const {
    const Access wanted{target_.entry->pd, access, target_.qp_num, target_.generation};
    if (target_.peer->is_self())
        return check_own_remote_key(qp_.adapter(), work_.rkey, wanted, address, length);
    return check_remote_key(target_.arena, work_.rkey, wanted, address, length);
}

void Executor::count_use() const {
    const MrEntry& named = target_.arena.mr(work_.rkey);
    if (named.counts_uses.load(std::memory_order_relaxed) != 0) [[unlikely]]
        note_use(named);
}

/// @return the remote range as mapped here; nullptr when access is not permitted, or plain copies
/// do not reach it.
std::uint8_t* Executor::remote_bytes(std::uint32_t access) const {
    if ((target_.entry->access.load(std::memory_order_acquire) & access) == 0) return nullptr;
    const CheckedRange range = check_remote(access, work_.remote_addr, work_.length);
    if (!range.permitted || range.shared.atomics_by_agent) return nullptr;
    return target_.pages->find(range.shared, range.address, work_.length);
}

/// Checks the first `length` bytes of one of a receive's segments.
CheckedRange Executor::check_receive(const Segment& segment, std::uint64_t length) const {
    const SrqHeader* shared = target_.receives.shared;
    const std::uint32_t pd = shared ? shared->pd : target_.entry->pd;
    constexpr std::uint32_t kAccess = IBV_ACCESS_LOCAL_WRITE;
    if (target_.peer->is_self())
        return check_own_key(qp_.adapter(), segment.key, pd, kAccess, segment.address, length);
    return check_key(target_.arena, segment.key, pd, kAccess, segment.address, length);
}

/// Whether the first segment takes the whole message, as it usually does for a short one. If not,
/// plan_receive() finds out what is wrong, if anything is.
bool Executor::first_segment_holds() const {
    if (work_.length == 0) return true;
    const Segment segment = slot_segments(receive_)[0];
    if (receive_->num_sge == 0 || segment.length < work_.length) return false;
    return check_receive(segment, work_.length).permitted;
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
    if ((flags & kInEntry) != 0) copy_short(place.entry->payload, payload_, work_.length);
    fault_point(FaultPoint::kPayloadPlaced);
    if (ring.publish(place, completion)) target_.wake_channel();
    if ((flags & (kInEntry | kInSlot)) != 0) qp_.note_unplaced(place.position);
}

/// A short send to a queue pair with receives of its own, of which the next one's first segment
/// takes the whole message.
[[gnu::noinline, gnu::flatten]] bool Executor::send_directly() {
    if (target_.receives.shared || work_.length > qp_.adapter().longest_inline()) return false;
    payload_ = local_bytes(0);
    if (!payload_) return false;
    slot_ = target_.entry->consumed.load(std::memory_order_relaxed);
    receive_ = target_.receives.slot(slot_);
    if (!is_posted() || !first_segment_holds()) return false;
    if (work_.length <= kEntryInlineBytes) {
        publish_receive(IBV_WC_SUCCESS, kInEntry);
        return true;
    }
    std::memcpy(slot_inline(receive_, target_.receives.stride), payload_, work_.length);
    fault_point(FaultPoint::kPayloadPlaced);
    publish_receive(IBV_WC_SUCCESS, kInSlot);
    return true;
}

[[gnu::noinline, gnu::flatten]] bool Executor::write_directly() {
    const std::uint8_t* from = local_bytes(0);
    std::uint8_t* to = from ? remote_bytes(IBV_ACCESS_REMOTE_WRITE) : nullptr;
    if (!to) return false;
    place(to, from, work_.length);
    fault_point(FaultPoint::kPayloadPlaced);
    return true;
}

[[gnu::noinline, gnu::flatten]] bool Executor::read_directly() {
    std::uint8_t* to = local_bytes(IBV_ACCESS_LOCAL_WRITE);
    const std::uint8_t* from = to ? remote_bytes(IBV_ACCESS_REMOTE_READ) : nullptr;
    if (!from) return false;
    std::memmove(to, from, work_.length);
    return true;
}

[[gnu::noinline, gnu::flatten]] bool Executor::run_atomic_directly() {
    AtomicRequest request{0, work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP, work_.atomic.compare_add,
                          work_.atomic.swap};
    if (work_.length != sizeof request.swap || work_.remote_addr % sizeof request.swap != 0)
        return false;
    std::uint8_t* to = local_bytes(IBV_ACCESS_LOCAL_WRITE);
    const std::uint8_t* word = to ? remote_bytes(IBV_ACCESS_REMOTE_ATOMIC) : nullptr;
    if (!word) return false;
    request.address = reinterpret_cast<std::uintptr_t>(word);
    const std::uint64_t found = run_atomic_here(request);
    std::memcpy(to, &found, sizeof found);
    return true;
}

}  // namespace softverbs
