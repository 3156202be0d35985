// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/completion_ring.hpp"

#include <infiniband/verbs.h>

#include <cstring>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/timestamp.hpp"

namespace softverbs {
namespace {

/// Limit on attempts: the words are a peer's, and garbage in them must not keep us here for ever.
constexpr int kMaxAttempts = 1 << 20;

/// @return CqHeader::notify after a completion that satisfies the request in `word`: with an event,
/// or with one more completion whose event is held. Without a limit of completions only the first
/// of these counts.
std::uint64_t after_completion(const CqHeader& header, std::uint64_t word, bool solicited) {
    if (Notify::arm(word) != Arm::kHeld || solicited) return Notify::disarmed(word);
    const auto limits = Moderation::decode(header.moderation.load(std::memory_order_relaxed));
    const std::uint32_t held = Notify::held(word);
    const bool is_full = limits.count != 0 && held + 1 >= limits.count;
    if (is_full || !limits.is_on()) return Notify::disarmed(word);
    return limits.count == 0 && held != 0 ? word : word + Notify::kOneHeld;
}

/// @param word CqHeader::notify before a completion, `next` after it.
Wake consequence(const CqHeader& header, std::uint64_t word, std::uint64_t next) {
    if (Notify::arm(next) == Arm::kNone) {
        fault_point(FaultPoint::kDisarmed);
        return Wake::kChannel;
    }
    fault_point(FaultPoint::kEventHeld);
    const auto limits = Moderation::decode(header.moderation.load(std::memory_order_relaxed));
    return Notify::held(word) == 0 && limits.period != 0 ? Wake::kPeriod : Wake::kNone;
}

}  // namespace

/// Yields one event per arming. The step that disarms the queue also counts the event, so that none
/// is lost when the producer dies right after it.
Wake take_request_for_event(CqHeader& header, bool solicited) {
    std::uint64_t word = header.notify.load(std::memory_order_seq_cst);
    for (;;) {
        const Arm arm = Notify::arm(word);
        if (arm == Arm::kNone || (arm == Arm::kSolicited && !solicited)) return Wake::kNone;
        const std::uint64_t next = after_completion(header, word, solicited);
        if (next == word) return Wake::kNone;
        if (header.notify.compare_exchange_weak(word, next, std::memory_order_seq_cst))
            return consequence(header, word, next);
    }
}

CompletionRing CompletionRing::of(ArenaView arena, std::uint32_t index) {
    CompletionRing ring;
    CqHeader* header = arena.cq(index);
    if (!header || header->live.load(std::memory_order_acquire) == 0) return ring;
    const RingPlace place = RingPlace::decode(header->ring.load(std::memory_order_seq_cst));
    const bool is_sane = place.size() >= kMinCqEntries && place.size() <= kMaxCqEntries;
    return is_sane ? at(arena, index, place) : ring;
}

CompletionRing CompletionRing::at(ArenaView arena, std::uint32_t index, RingPlace place) {
    CompletionRing ring;
    CqHeader* header = arena.cq(index);
    auto* base = arena.array<std::uint8_t>(place.offset, ring_bytes(place.size()));
    if (!base) return ring;
    ring.header_ = header;
    ring.is_plain_ = header->is_stamped == 0;
    ring.word_ = place.encode();
    ring.claims_ = reinterpret_cast<CqClaim*>(base);
    ring.entries_ = reinterpret_cast<CqEntry*>(base + place.size() * sizeof(CqClaim));
    ring.mask_ = place.size() - 1;
    ring.tail_ = &header->tails[place.turn].position;
    ring.head_ = &header->heads[place.turn];
    return ring;
}

void put_stamp(CqEntry& entry, std::uint64_t timestamp) {
    std::memcpy(entry.payload + kStampedInlineBytes, &timestamp, sizeof timestamp);
}

std::uint64_t stamp_of(const CqEntry& entry) {
    std::uint64_t timestamp;
    std::memcpy(&timestamp, entry.payload + kStampedInlineBytes, sizeof timestamp);
    return timestamp & kTimestampMask;
}

/// Claims in a queue with timestamps too, which the inline part leaves to this one.
CompletionRing::Place CompletionRing::claim_behind(std::uint32_t qp_num, Producer producer) {
    const Place place = search(qp_num, producer);
    if (place.entry && !is_plain_) put_stamp(*place.entry, timestamp_now());
    return place;
}

/// Claims the next free position, which may be behind the tail.
CompletionRing::Place CompletionRing::search(std::uint32_t qp_num, Producer producer) {
    if (!valid()) return {nullptr, 0};
    std::uint64_t at = tail_->load(std::memory_order_acquire);
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        const auto found =
            static_cast<std::uint32_t>(claim_word(at).load(std::memory_order_acquire) >> 32);
        const auto ahead = static_cast<std::int32_t>(found - static_cast<std::uint32_t>(at));
        if (ahead >= 0) {
            // A valid claim is whole laps ahead. Following garbage would touch, and so allocate,
            // page after page.
            if ((static_cast<std::uint32_t>(ahead) & mask_) != 0) break;
            at += static_cast<std::uint32_t>(ahead) + 1;
            continue;
        }
        if (at - seen_head_ > mask_) {
            seen_head_ = head_->load(std::memory_order_acquire);
            // Others have claimed the position since, and the consumer has taken what they put
            // there.
            if (static_cast<std::int64_t>(at - seen_head_) < 0) {
                at = seen_head_;
                continue;
            }
            if (at - seen_head_ > mask_) break;
        }
        const Place place = claim_at(at, qp_num, producer);
        if (place.entry) return place;
    }
    return {nullptr, 0};
}

}  // namespace softverbs
