// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The ring of a completion queue, in its owner's arena: many producers in many processes, one
/// consumer at a time. Completions of the owner's own send requests are not in it
/// (send_completions.hpp).
///
/// A producer claims the position at the tail by compare-and-swap, fills the entry, and makes it
/// ready. It may die between any two of its stores. If it dies before the tail moves, other
/// producers skip the claimed position. If it dies before the entry is ready, the consumer waits at
/// the entry until the owner, which finds claims that were not published by the queue pair's
/// number, voids it (CompletionQueue::settle_receives). If it dies before it takes the request for
/// an event, the owner finds the entry when it checks again (repeat_wake).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/arena/fault_points.hpp"

namespace softverbs {

/// Returns the size of the ring of a completion queue for which `entries` were requested.
inline std::uint32_t ring_size(std::uint32_t entries) {
    return std::max(kMinCqEntries, std::bit_ceil(entries));
}

/// The publisher of a completion: a thread of the owner, or the requester of one of its queue
/// pairs.
enum class Producer : std::uint32_t { kOwner, kRequester };

struct Claim {
    std::uint32_t position;
    Producer producer;
    std::uint32_t qp_num;

    static Claim decode(std::uint64_t word) {
        const auto low = static_cast<std::uint32_t>(word);
        return {static_cast<std::uint32_t>(word >> 32), static_cast<Producer>(low >> 29 & 1),
                low & 0xffffff};
    }
    std::uint64_t encode() const {
        return std::uint64_t{position} << 32 | static_cast<std::uint32_t>(producer) << 29 |
               (qp_num & 0xffffff);
    }
};

struct EntryState {
    std::uint32_t position;
    Phase phase;

    static EntryState decode(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word >> 32),
                static_cast<Phase>(static_cast<std::uint32_t>(word) >> 30)};
    }
    static std::uint64_t encode(std::uint64_t position, Phase phase) {
        return position << 32 | static_cast<std::uint64_t>(phase) << 30;
    }
};

/// The completion of a receive, as a producer fills it in.
struct Completion {
    std::uint32_t byte_len = 0;
    std::uint32_t imm_data = 0;
    std::uint32_t qp_num = 0;  ///< of CompletionNames
    std::uint32_t src_qp = 0;  ///< of CompletionNames
    std::uint32_t position = 0;
    std::uint8_t status = 0;
    std::uint8_t opcode = 0;
    std::uint8_t wc_flags = 0;
    std::uint8_t flags = 0;
};

/// The consequence of a completion for whoever has made it, the weaker one first.
enum class Wake : std::uint8_t {
    kNone,
    kPeriod,   ///< an event is held from now on: the owner's service thread starts the period
    kChannel,  ///< an event was counted: the caller wakes the channel
};

/// Takes the consumer's request for an event, if this completion satisfies it, or counts the
/// completion, if moderation holds the event.
/// @param solicited or an error: its event is never held.
/// @return kChannel once for each request, kPeriod at most once before it.
Wake take_request_for_event(CqHeader& header, bool solicited);
inline Wake take_arming(CqHeader& header, bool solicited) {
    if ((header.notify.load(std::memory_order_seq_cst) & 0xff) == 0) return Wake::kNone;
    return take_request_for_event(header, solicited);
}

/// The timestamp of an entry in a queue that has them, at the end of its payload.
void put_stamp(CqEntry& entry, std::uint64_t timestamp);
std::uint64_t stamp_of(const CqEntry& entry);

/// Bytes of a ring in the heap of an arena.
constexpr std::uint64_t ring_bytes(std::uint32_t size) {
    return std::uint64_t{size} * (sizeof(CqClaim) + sizeof(CqEntry));
}

/// The ring of any process's completion queue, its place and size checked. The owner may replace
/// it, so a producer checks before each completion whether the ring is_current(). A ring found so
/// stays in place until the requester's Transfer or Turn ends, or the owner releases the completion
/// queue's lock. Not thread safe.
class CompletionRing {
  public:
    /// An entry that its producer has claimed; `entry` is nullptr when the ring is full.
    struct Place {
        CqEntry* entry;
        std::uint64_t position;
    };

    CompletionRing() = default;
    /// @return the queue's current ring; valid() is false when its header is inconsistent.
    static CompletionRing of(ArenaView arena, std::uint32_t index);
    /// @return the ring at a place that the caller knows, as the owner does without reading the
    /// arena.
    static CompletionRing at(ArenaView arena, std::uint32_t index, RingPlace place);

    bool valid() const { return header_ != nullptr; }
    bool is_stamped() const { return valid() && !is_plain_; }
    bool is_current() const { return header_->ring.load(std::memory_order_seq_cst) == word_; }
    CqEntry& entry(std::uint64_t position) const { return entries_[position & mask_]; }
    CqClaim& claim_word(std::uint64_t position) const { return claims_[position & mask_]; }
    std::uint32_t size() const { return mask_ + 1; }
    /// @return position up to which the consumer has polled.
    std::uint64_t head() const { return head_->load(std::memory_order_acquire); }
    /// Called by the consumer: entries before `position` may be reused.
    void set_head(std::uint64_t position) const {
        head_->store(position, std::memory_order_release);
    }

    /// Claims the next free position.
    Place claim(std::uint32_t qp_num, Producer producer);
    /// Makes a claimed entry visible. @return the consequence, if the consumer has armed the queue.
    [[nodiscard]] Wake publish(Place place, const Completion& completion) const;

  private:
    Place claim_at(std::uint64_t at, std::uint32_t qp_num, Producer producer);
    Place claim_behind(std::uint32_t qp_num, Producer producer);
    Place search(std::uint32_t qp_num, Producer producer);

    bool is_plain_ = false;  ///< valid, and its entries have no timestamps
    CqHeader* header_ = nullptr;
    std::atomic<std::uint64_t>* tail_ = nullptr;
    std::atomic<std::uint64_t>* head_ = nullptr;
    CqClaim* claims_ = nullptr;
    CqEntry* entries_ = nullptr;
    std::uint32_t mask_ = 0;
    std::uint64_t word_ = 0;       ///< value of CqHeader::ring
    std::uint64_t seen_head_ = 0;  ///< last value read; read again only when the ring looks full
};

/// Claims a position if it is free and the ring is not known to be full. The tail is stored, not
/// exchanged: a producer that was delayed sets it back, and the next one skips the positions that
/// have been claimed since.
inline CompletionRing::Place CompletionRing::claim_at(std::uint64_t at, std::uint32_t qp_num,
                                                      Producer producer) {
    CqClaim& word = claims_[at & mask_];
    std::uint64_t found = word.load(std::memory_order_acquire);
    const auto ahead = static_cast<std::int32_t>(static_cast<std::uint32_t>(found >> 32) -
                                                 static_cast<std::uint32_t>(at));
    if (ahead >= 0 || at - seen_head_ > mask_) return {nullptr, 0};
    fault_point(FaultPoint::kClaimLooked);
    const Claim mine{static_cast<std::uint32_t>(at), producer, qp_num};
    if (!word.compare_exchange_strong(found, mine.encode(), std::memory_order_acq_rel))
        return {nullptr, 0};
    fault_point(FaultPoint::kCompletionClaimed);
    tail_->store(at + 1, std::memory_order_release);
    fault_point(FaultPoint::kTailMoved);
    return {&entries_[at & mask_], at};
}

inline CompletionRing::Place CompletionRing::claim(std::uint32_t qp_num, Producer producer) {
    if (is_plain_) [[likely]] {
        const Place place = claim_at(tail_->load(std::memory_order_acquire), qp_num, producer);
        if (place.entry) [[likely]]
            return place;
    }
    return claim_behind(qp_num, producer);
}

inline Wake CompletionRing::publish(Place place, const Completion& completion) const {
    CqEntry& entry = *place.entry;
    entry.byte_len = completion.byte_len;
    entry.imm_data = completion.imm_data;
    entry.qp_num = completion.qp_num;
    entry.src_qp = completion.src_qp;
    fault_point(FaultPoint::kCompletionHalfWritten);
    entry.position = completion.position;
    entry.status = completion.status;
    entry.opcode = completion.opcode;
    entry.wc_flags = completion.wc_flags;
    entry.flags = completion.flags;
    fault_point(FaultPoint::kCompletionWritten);
    // An exchange, not a store: it must be visible before the check whether the queue is armed.
    entry.state.exchange(EntryState::encode(place.position, Phase::kReady),
                         std::memory_order_seq_cst);
    fault_point(FaultPoint::kCompletionPublished);
    const bool solicited = (completion.flags & kSolicited) != 0 || completion.status != 0;
    return take_arming(*header_, solicited);
}

}  // namespace softverbs
