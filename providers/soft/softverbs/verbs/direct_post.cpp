// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The direct path of a post, for the usual request: a short send, read, write or atomic operation
/// with one segment, on memory that this process reaches by a pointer at both ends. It is carried
/// out straight from what the caller has posted. Every other request, and each in which something
/// is wrong, takes the general path (executor.cpp) from its beginning: by then this one has changed
/// nothing.
#include <cstring>

#include "providers/soft/softverbs/arena/transfer_mark.hpp"
#include "providers/soft/softverbs/verbs/atomics.hpp"
#include "providers/soft/softverbs/verbs/request_kinds.hpp"
#include "providers/soft/softverbs/verbs/target_access.hpp"

namespace softverbs {
namespace {

/// Copies one word or some bytes, so that whoever polls the last of them sees all.
void place(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length) {
    std::uint64_t word;
    if (length != sizeof word || reinterpret_cast<std::uintptr_t>(to) % sizeof word != 0)
        return ordered_copy(to, from, length);
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
}

}  // namespace

class DirectPost {
  public:
    DirectPost(QueuePair& qp, const ibv_send_wr& wr) REQUIRES(qp.send_lock_)
        : qp_(qp), target_(qp.target_), wr_(wr), segment_(*wr.sg_list), is_fenced_(qp.is_fenced_) {}

    /// @return whether the request has been carried out.
    bool run() const {
        switch (wr_.opcode) {
            case IBV_WR_SEND:
            case IBV_WR_SEND_WITH_IMM:
                return at_target<&DirectPost::send>(TransferMark::kQueues);
            case IBV_WR_RDMA_WRITE:
                return at_target<&DirectPost::write>(wr_.wr.rdma.rkey);
            case IBV_WR_RDMA_READ:
                return at_target<&DirectPost::read>(wr_.wr.rdma.rkey);
            default:
                return at_target<&DirectPost::run_atomic>(wr_.wr.atomic.rkey);
        }
    }

  private:
    /// @param key of TransferMark.
    template <bool (DirectPost::*act)() const>
    bool at_target(std::uint32_t key) const {
        if (!target_.peer->alive()) return false;
        const Transfer transfer(qp_.entry().transfer, target_.qp_num, key, is_fenced_);
        return is_ready() && (this->*act)();
    }
    bool is_ready() const {
        const QpEntry& entry = *target_.entry;
        return entry.generation.load(std::memory_order_seq_cst) == target_.generation &&
               entry.readiness.load(std::memory_order_seq_cst) == Readiness::kReady &&
               entry.dest_qp_num.load(std::memory_order_acquire) == qp_.qp_num;
    }

    /// @param rights IBV_ACCESS_* bits, all of which are needed.
    /// @return the local segment; nullptr if access is not permitted, or plain copies do not reach
    /// it.
    std::uint8_t* local(std::uint32_t rights) const {
        if ((wr_.send_flags & IBV_SEND_INLINE) != 0)
            return reinterpret_cast<std::uint8_t*>(segment_.addr);
        const Adapter& adapter = qp_.adapter();
        const CheckedRange range = check_own_key(adapter, segment_.lkey, qp_.domain().number(),
                                                 rights, segment_.addr, segment_.length);
        if (!range.permitted) return nullptr;
        return adapter.own_pages().find(range.shared, range.address, segment_.length);
    }
    /// @return the remote range as mapped here, under the same conditions.
    std::uint8_t* remote(std::uint32_t key, std::uint32_t right, std::uint64_t address) const {
        if ((target_.entry->access.load(std::memory_order_acquire) & right) == 0) return nullptr;
        const CheckedRange range =
            check_remote(qp_.adapter(), target_, key, right, address, segment_.length);
        if (!range.permitted || range.shared.atomics_by_agent) return nullptr;
        return target_.pages->find(range.shared, range.address, segment_.length);
    }

    /// To a queue pair with receives of its own, of which the next one's first segment takes the
    /// whole message.
    bool send() const {
        const std::uint32_t length = segment_.length;
        if (target_.receives.shared || length > qp_.adapter().longest_inline()) return false;
        const std::uint8_t* const payload = local(0);
        if (!payload) return false;
        const std::uint32_t position = target_.entry->consumed.load(std::memory_order_relaxed);
        ReceiveSlot* const receive = target_.receives.slot(position);
        if (!is_posted(*receive, position) ||
            !first_segment_holds(qp_.adapter(), target_, receive, length))
            return false;
        Completion completion;
        completion.byte_len = length;
        completion.position = position;
        if (wr_.opcode == IBV_WR_SEND_WITH_IMM) {
            completion.imm_data = wr_.imm_data;
            completion.wc_flags = IBV_WC_WITH_IMM;
        }
        completion.flags = length <= kEntryInlineBytes ? kInEntry : kInSlot;
        if ((wr_.send_flags & IBV_SEND_SOLICITED) != 0) completion.flags |= kSolicited;
        if (length > kEntryInlineBytes)
            std::memcpy(slot_inline(receive, target_.receives.stride), payload, length);
        qp_.complete_at_target(completion, payload);
        return true;
    }

    bool write() const {
        const std::uint8_t* const from = local(0);
        if (!from) return false;
        std::uint8_t* const to =
            remote(wr_.wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE, wr_.wr.rdma.remote_addr);
        if (!to) return false;
        place(to, from, segment_.length);
        fault_point(FaultPoint::kPayloadPlaced);
        count_use(target_, wr_.wr.rdma.rkey);
        return true;
    }

    bool read() const {
        std::uint8_t* const to = local(IBV_ACCESS_LOCAL_WRITE);
        if (!to) return false;
        const std::uint8_t* const from =
            remote(wr_.wr.rdma.rkey, IBV_ACCESS_REMOTE_READ, wr_.wr.rdma.remote_addr);
        if (!from) return false;
        std::memmove(to, from, segment_.length);
        count_use(target_, wr_.wr.rdma.rkey);
        return true;
    }

    bool run_atomic() const {
        const auto& wanted = wr_.wr.atomic;
        AtomicRequest request{0, wr_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP, wanted.compare_add,
                              wanted.swap};
        if (segment_.length != sizeof request.swap || wanted.remote_addr % sizeof request.swap != 0)
            return false;
        std::uint8_t* const to = local(IBV_ACCESS_LOCAL_WRITE);
        if (!to) return false;
        const std::uint8_t* const word =
            remote(wanted.rkey, IBV_ACCESS_REMOTE_ATOMIC, wanted.remote_addr);
        if (!word) return false;
        request.address = reinterpret_cast<std::uintptr_t>(word);
        const std::uint64_t found = run_atomic_here(request);
        std::memcpy(to, &found, sizeof found);
        count_use(target_, wanted.rkey);
        return true;
    }

    QueuePair& qp_;
    Target& target_;
    const ibv_send_wr& wr_;
    const ibv_sge& segment_;
    const bool is_fenced_;  ///< QueuePair::is_fenced_
};

/// Whether the request, which nobody has checked yet, and the state of the queue fit the direct
/// path.
inline bool QueuePair::may_post_directly(const ibv_send_wr& wr) const {
    const Kind kind = kKinds[wr.opcode];
    if (!kind.has(kDirect) || wr.num_sge != 1 || cap_.max_send_sge == 0) return false;
    if (qp_type != IBV_QPT_RC && (qp_type != IBV_QPT_UC || kind.has(kNeedsAnswer))) return false;
    if (state_.load(std::memory_order_relaxed) != IBV_QPS_RTS || send_pending_ != send_posted_)
        return false;
    if (send_posted_ - send_completed_.load(std::memory_order_acquire) >= cap_.max_send_wr)
        return false;
    const std::uint32_t length = wr.sg_list->length;
    if (length - 1 >= longest_direct_) return false;  // 0 is as long as can be
    if ((wr.send_flags & IBV_SEND_INLINE) == 0) return true;
    return kind.has(kInlineable) && length <= cap_.max_inline_data;
}

[[gnu::flatten]] bool QueuePair::post_directly(const ibv_send_wr& wr) {
    if (!may_post_directly(wr) || !DirectPost(*this, wr).run()) return false;
    const std::uint32_t position = send_posted_++;
    ++send_pending_;
    if (!signal_all_ && (wr.send_flags & IBV_SEND_SIGNALED) == 0) return true;
    const Kind kind = kKinds[wr.opcode];
    const std::uint32_t brought = kind.has(kNeedsAnswer) ? wr.sg_list->length : 0;
    send_queue().post({wr.wr_id, this, brought, position, IBV_WC_SUCCESS, kind.completion});
    return true;
}

/// If it comes to the general path all the same, the rules have their decision, and do not count it
/// again.
[[gnu::noinline]] bool QueuePair::post_past_rules(const ibv_send_wr& wr) {
    if (is_cut() || is_silenced()) return false;
    longest_direct_ = kLongestDirect;
    const bool is_posted = may_post_directly(wr) && !rule_for_next(wr) && post_directly(wr);
    longest_direct_ = 0;
    return is_posted;
}

}  // namespace softverbs
