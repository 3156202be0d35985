// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/delivery.hpp"

#include <algorithm>
#include <cstring>

#include "providers/soft/softverbs/verbs/payload.hpp"

namespace softverbs {

bool Places::add(const Segment& segment, std::uint32_t skipped, std::uint32_t length) {
    const CheckedRange to = check_own_key(adapter_, segment.key, pd_, IBV_ACCESS_LOCAL_WRITE,
                                          segment.address, skipped + length);
    if (!to.permitted) return false;
    LocalRange& range = ranges_[count_++];
    range = {to.address + skipped, length, to.shared, nullptr};
    PeerPages& own = adapter_.own_pages();
    range.here = own.find(to.shared, range.address, length);
    if (!range.here) [[unlikely]]
        range.here = own.map(to.shared, range.address, length);
    all_here_ = all_here_ && range.here;
    return true;
}

int Places::fill(const std::uint8_t* data) const {
    if (count_ == 0) return 0;
    if (all_here_) {
        scatter({ranges_, count_}, data);
        return 0;
    }
    const auto offset = static_cast<std::uint64_t>(data - adapter_.view().base());
    return write_from_file(adapter_.arena_fd(), offset, {ranges_, count_});
}

int deliver(const Adapter& adapter, const ReceiveRing& ring, std::uint32_t pd, const CqEntry& entry,
            std::uint32_t position) {
    const std::uint8_t flags = read_once(entry.flags);
    if ((flags & (kInEntry | kInSlot)) == 0) return 0;
    ReceiveSlot* slot = ring.slot(position);
    if (!slot) return 0;
    order_after_post(*slot);
    const bool in_slot = (flags & kInSlot) != 0;
    std::uint8_t* const data = slot_inline(slot, ring.stride);
    std::uint32_t left =
        std::min(read_once(entry.byte_len), in_slot ? kSlotInlineBytes : kEntryInlineBytes);
    Places places(adapter, pd);
    const std::uint32_t count = std::min(read_once(slot->num_sge), ring.max_sge);
    for (std::uint32_t i = 0; i < count && left != 0; ++i) {
        const Segment segment = read_once(slot_segments(slot)[i]);
        const std::uint32_t part = std::min(segment.length, left);
        if (part != 0 && !places.add(segment, 0, part)) return 0;
        left -= part;
    }
    if (in_slot) return places.fill(data);
    if (places.all_here()) return places.fill(entry.payload);
    // The entry may be a copy outside the arena; the slot's place for a payload is free to hold it.
    std::memcpy(data, entry.payload, kEntryInlineBytes);
    return places.fill(data);
}

}  // namespace softverbs
