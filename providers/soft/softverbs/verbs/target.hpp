// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The queue pair at the other end, as its requester sees it: pointers into the peer's arena, each
/// checked when the connection is made. Sizes are copied here and not read from the arena again.
#pragma once

#include <infiniband/verbs.h>

#include <bit>
#include <memory>

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"
#include "providers/soft/softverbs/memory/peer_pages.hpp"
#include "providers/soft/softverbs/memory/transfer.hpp"
#include "providers/soft/softverbs/verbs/completion_ring.hpp"

namespace softverbs {

class Adapter;

/// A receive queue in an arena: private to one queue pair, or shared.
struct ReceiveRing {
    std::uint8_t* slots = nullptr;  ///< private queues only
    std::uint32_t size = 0;         ///< a power of two; shared: of the first section
    std::uint32_t stride = 0;
    std::uint32_t max_sge = 0;
    SrqHeader* shared = nullptr;
    ArenaView arena;                                       ///< shared queues only
    const std::atomic<std::uint64_t>* sections = nullptr;  ///< shared only: SrqHeader::sections

    /// @return nullptr when a shared queue has no such slot.
    ReceiveSlot* slot(std::uint32_t index) const {
        if (shared) return shared_slot(index);
        return reinterpret_cast<ReceiveSlot*>(slots + std::size_t{index & (size - 1)} * stride);
    }

  private:
    ReceiveSlot* shared_slot(std::uint32_t index) const;
};

/// The section in which a slot of a shared receive queue is, and its place there.
struct SectionPlace {
    std::uint32_t section;
    std::uint32_t index;  ///< in the section
    std::uint32_t size;   ///< of the section

    static SectionPlace of(std::uint32_t slot, std::uint32_t first_size) {
        const auto section =
            static_cast<std::uint32_t>(std::bit_width(slot >> std::countr_zero(first_size)));
        if (section == 0) return {0, slot, first_size};
        const std::uint32_t before = first_size << (section - 1);
        return {section, slot - before, before};
    }
};

struct Target {
    std::shared_ptr<Peer> peer;
    ArenaView arena;
    QpEntry* entry = nullptr;
    std::uint32_t qp_num = 0;
    std::uint32_t index = 0;  ///< in the peer's table
    std::uint32_t generation = 0;
    std::uint32_t pd = 0;   ///< of the keys that a request may name
    CompletionNames names;  ///< of a completion there; set by the requester
    ReceiveRing receives;
    std::uint32_t srq = 0;  ///< index + 1 of a shared receive queue; 0: none
    CqHeader* completions = nullptr;
    std::uint32_t cq = 0;
    CompletionRing ring;                ///< the ring of `completions`, as last read
    std::shared_ptr<UniqueFd> channel;  ///< wakes the peer's completion channel; may be nullptr
    /// Whether process_vm reaches the peer's memory; otherwise its agent copies.
    bool has_process_vm = true;
    std::uint64_t image_address = 0;  ///< ArenaHeader::image_address
    /// The peer's shared pages, one object for all targets of the peer.
    std::shared_ptr<PeerPages> pages;

    /// The XRC shared receive queue at which the fields from `pd` to `channel` are aimed.
    const QpEntry* srq_entry = nullptr;
    std::uint32_t srq_num = 0;  ///< 0: none
    std::uint32_t srq_generation = 0;

    /// Finds and checks the queue pair `qp_num`. Waits for its owner to answer.
    /// @param type of the queue pair that wants to be connected with it.
    /// @return the target or an errno: EINVAL when nobody has that number, its entry is
    /// inconsistent, or only one of both is an XRC queue pair.
    static Result<Target> bind(Adapter& adapter, std::uint32_t qp_num, ibv_qp_type type);

    /// Whether the target is aimed at the XRC shared receive queue with this number, which still
    /// exists. Checked, as the other end is, while a Transfer is marked.
    bool is_aimed_at(std::uint32_t number) const;
    /// Aims the target, an XRC_RECV queue pair, at a shared receive queue of its process and
    /// domain.
    /// @return false when there is none with this number.
    bool aim(std::uint32_t number);

    /// @return the ring in which to complete a receive now. Valid while a Transfer is marked, or
    /// the Turn is held.
    CompletionRing& completion_ring() {
        if (!ring.valid() || !ring.is_current()) ring = CompletionRing::of(arena, cq);
        return ring;
    }
    /// Bytes of the longest message that fits into the entry of its completion.
    std::uint32_t longest_in_entry() const {
        return completions->is_stamped == 0 ? kEntryInlineBytes : kStampedInlineBytes;
    }
    /// Whether the queue pair may be at this port: one that is not in use yet has none.
    bool is_at(unsigned port) const {
        const std::uint16_t its_port = entry->port.load(std::memory_order_acquire);
        return its_port == 0 || its_port == port + 1;
    }
    Image image() const { return {peer->pid(), image_address}; }
    /// Notes why the queue pair has to fail, for its owner. One that cannot write its own receive
    /// is closed at once: what comes behind finds it failed, whenever its owner looks.
    void note_fault(Fault fault) const;
    /// Makes the owner's service thread serve the queue pair.
    void kick_qp() const;
    void kick_srq() const;
    /// Tells the owner that somebody waits for a region of its that is away.
    void want_regions() const;
    /// Wakes the completion channel after a completion was published to a queue that was armed, or
    /// makes the owner start the period for which moderation holds the event.
    void wake(Wake wake) const;
    void kick_cq() const;

  private:
    bool find_queues(const QpEntry& named);
};

}  // namespace softverbs
