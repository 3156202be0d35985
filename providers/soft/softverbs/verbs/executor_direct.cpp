// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How each request begins, and the fast path for the usual ones: a short read, write or atomic
/// operation with one segment, on memory that this process reaches by a pointer. It needs no plan.
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
    if (!move_directly()) return execute();
    count_use();
    return done(IBV_WC_SUCCESS);
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
    switch (work_.opcode) {
        case IBV_WR_RDMA_WRITE:
            return write_directly();
        case IBV_WR_RDMA_READ:
            return read_directly();
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
        case IBV_WR_ATOMIC_CMP_AND_SWP:
            return run_atomic_directly();
        default:
            return false;
    }
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

/// @return the remote range as mapped here; nullptr when access is not permitted, or plain copies
/// do not reach it.
std::uint8_t* Executor::remote_bytes(std::uint32_t access) const {
    if ((target_.entry->access.load(std::memory_order_acquire) & access) == 0) return nullptr;
    const CheckedRange range = check_remote(access, work_.remote_addr, work_.length);
    if (!range.permitted || range.shared.atomics_by_agent) return nullptr;
    return target_.pages->find(range.shared, range.address, work_.length);
}

bool Executor::write_directly() {
    const std::uint8_t* from = local_bytes(0);
    std::uint8_t* to = from ? remote_bytes(IBV_ACCESS_REMOTE_WRITE) : nullptr;
    if (!to) return false;
    place(to, from, work_.length);
    fault_point(FaultPoint::kPayloadPlaced);
    return true;
}

bool Executor::read_directly() {
    std::uint8_t* to = local_bytes(IBV_ACCESS_LOCAL_WRITE);
    const std::uint8_t* from = to ? remote_bytes(IBV_ACCESS_REMOTE_READ) : nullptr;
    if (!from) return false;
    std::memmove(to, from, work_.length);
    return true;
}

bool Executor::run_atomic_directly() {
    AtomicRequest request{0, work_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP, work_.compare_add,
                          work_.swap};
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
