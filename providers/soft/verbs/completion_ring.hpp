// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The ring of a completion queue, in its owner's arena: many producers in many processes, one
/// consumer at a time. A producer claims the entry at the tail by compare-and-swap; whoever meets a
/// claimed entry moves the tail on, so a producer that dies blocks nobody. What it claimed and did
/// not publish, the owner makes void (CompletionQueue::settle_receives).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "providers/soft/verbs/arena.hpp"

namespace softverbs {

/// Entries of the ring of a completion queue for which so many were asked.
inline std::uint32_t ring_size(std::uint32_t entries) {
    constexpr std::uint32_t kSmallest = 16;
    return std::max(kSmallest, std::bit_ceil(entries));
}

/// Who publishes: a thread of the owner, or the requester of one of its queue pairs.
enum class Producer : std::uint32_t { kOwner, kRequester };

struct EntryState {
    std::uint32_t position;
    Phase phase;
    Producer producer;
    std::uint32_t qp_num;

    static EntryState decode(std::uint64_t word) {
        const auto low = static_cast<std::uint32_t>(word);
        return {static_cast<std::uint32_t>(word >> 32), static_cast<Phase>(low >> 30),
                static_cast<Producer>(low >> 29 & 1), low & 0xffffff};
    }
    std::uint64_t encode() const {
        return std::uint64_t{position} << 32 | static_cast<std::uint32_t>(phase) << 30 |
               static_cast<std::uint32_t>(producer) << 29 | (qp_num & 0xffffff);
    }
    static std::uint64_t free_at(std::uint64_t position) { return position << 32; }
};

/// What a producer fills in.
struct Completion {
    std::uint64_t wr_id = 0;
    std::uint32_t byte_len = 0;
    std::uint32_t imm_data = 0;
    std::uint32_t qp_num = 0;  ///< the owner's queue pair
    std::uint32_t src_qp = 0;
    std::uint32_t position = 0;
    std::uint8_t status = 0;
    std::uint8_t opcode = 0;
    std::uint8_t wc_flags = 0;
    std::uint8_t flags = 0;
};

/// The consumer has asked for an event, of which this completion is worth one. @return true once
/// for each request: the caller then wakes the channel.
bool take_arming(CqHeader& header, bool solicited);

/// Somebody's ring, its place and size checked. Lock-free; any thread. A producer looks it up for
/// each completion, because the owner may replace it; what it found stays until the producer says
/// that it has finished (QpEntry::busy, or the locks of the owner's queue pair).
class CompletionRing {
  public:
    CompletionRing() = default;
    /// @return a ring for which valid() is false when the header makes no sense.
    static CompletionRing of(ArenaView arena, std::uint32_t index);

    bool valid() const { return header_ != nullptr; }
    CqEntry& entry(std::uint64_t position) const { return entries_[position & mask_]; }
    std::uint32_t size() const { return mask_ + 1; }

    /// @return the entry, claimed; nullptr when the ring is full.
    CqEntry* claim(std::uint32_t qp_num, Producer producer) const;
    /// Makes a claimed entry visible. @return whether the consumer had armed the queue for such an
    /// event: the caller then wakes its channel, once.
    bool publish(CqEntry& entry, const Completion& completion) const;

  private:
    CqHeader* header_ = nullptr;
    std::atomic<std::uint64_t>* tail_ = nullptr;
    CqEntry* entries_ = nullptr;
    std::uint64_t mask_ = 0;
};

}  // namespace softverbs
