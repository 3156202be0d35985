// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/completion_ring.hpp"

#include <infiniband/verbs.h>

namespace softverbs {
namespace {

constexpr int kMaxAttempts = 1 << 20;

}  // namespace

/// One event for one arming: whoever disarms the queue counts the event in the same step, so that
/// none is lost when the producer dies right after.
bool take_arming(CqHeader& header, bool solicited) {
    std::uint64_t word = header.notify.load(std::memory_order_seq_cst);
    for (;;) {
        const auto arm = static_cast<Arm>(word & 0xff);
        if (arm == Arm::kNone || (arm == Arm::kSolicited && !solicited)) return false;
        const std::uint64_t disarmed = (word & ~std::uint64_t{0xff}) + 0x100;
        if (header.notify.compare_exchange_weak(word, disarmed, std::memory_order_seq_cst)) {
            return true;
        }
    }
}

CompletionRing CompletionRing::of(ArenaView arena, std::uint32_t index) {
    CompletionRing ring;
    CqHeader* header = arena.cq(index);
    if (!header || header->live.load(std::memory_order_acquire) == 0) return ring;
    const RingPlace place = RingPlace::decode(header->ring.load(std::memory_order_seq_cst));
    ring.entries_ =
        arena.array<CqEntry>(place.offset, std::uint64_t{place.size()} * sizeof(CqEntry));
    ring.mask_ = place.size() - 1;
    ring.tail_ = &header->tails[place.turn].position;
    if (ring.entries_) ring.header_ = header;
    return ring;
}

CqEntry* CompletionRing::claim(std::uint32_t qp_num, Producer producer) const {
    // Bounded: the words belong to a peer, and nonsense in them must not hold us for ever.
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        std::uint64_t tail = tail_->load(std::memory_order_acquire);
        CqEntry& entry = entries_[tail & mask_];
        std::uint64_t word = entry.state.load(std::memory_order_acquire);
        const EntryState found = EntryState::decode(word);
        const auto ahead =
            static_cast<std::int32_t>(found.position - static_cast<std::uint32_t>(tail));
        if (ahead < 0) return nullptr;  // still occupied from the last lap
        if (ahead > 0) continue;        // the tail that we read is old
        const EntryState mine{found.position, Phase::kClaimed, producer, qp_num};
        const bool claimed =
            found.phase == Phase::kFree &&
            entry.state.compare_exchange_strong(word, mine.encode(), std::memory_order_acq_rel);
        tail_->compare_exchange_strong(tail, tail + 1, std::memory_order_acq_rel);
        if (claimed) return &entry;
    }
    return nullptr;
}

bool CompletionRing::publish(CqEntry& entry, const Completion& completion) const {
    entry.wr_id = completion.wr_id;
    entry.byte_len = completion.byte_len;
    entry.imm_data = completion.imm_data;
    entry.qp_num = completion.qp_num;
    entry.src_qp = completion.src_qp;
    entry.position = completion.position;
    entry.status = completion.status;
    entry.opcode = completion.opcode;
    entry.wc_flags = completion.wc_flags;
    entry.flags = completion.flags;
    EntryState state = EntryState::decode(entry.state.load(std::memory_order_relaxed));
    state.phase = Phase::kReady;
    // An exchange, not a store: it must be visible before we look whether the queue is armed.
    entry.state.exchange(state.encode(), std::memory_order_seq_cst);
    const bool solicited =
        (completion.flags & kSolicited) != 0 || completion.status != IBV_WC_SUCCESS;
    return take_arming(*header_, solicited);
}

}  // namespace softverbs
