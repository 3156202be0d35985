// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Delivery of a message that came in the queues: its receiver copies it to the posted buffers. The
/// requester has checked them as well, but any peer may have overwritten the slot since.
#pragma once

#include "providers/soft/softverbs/memory/transfer.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

/// The ranges that a payload is copied to.
class Places {
  public:
    /// @param pd number of the protection domain of the receives.
    Places(const Adapter& adapter, std::uint32_t pd) : adapter_(adapter), pd_(pd) {}
    /// Adds the part of a posted segment that a payload fills: `length` bytes behind `skipped`.
    /// @return false when the segment's registration has ended.
    bool add(const Segment& segment, std::uint32_t skipped, std::uint32_t length);
    /// Whether this process reaches all of them by pointers.
    bool all_here() const { return all_here_; }
    /// Copies a payload to its places. The kernel writes memory that is not shared from birth, and
    /// so finds out what the program has unmapped or protected.
    /// @param data in our arena, unless all_here(). @return 0 or EFAULT.
    int fill(const std::uint8_t* data) const;

  private:
    const Adapter& adapter_;
    const std::uint32_t pd_;
    LocalRange ranges_[kMaxSge];
    std::uint32_t count_ = 0;
    bool all_here_ = true;
};

/// Copies the payload of a completed receive, if there is one in the queues, to the posted buffer.
/// Memory that ibv_dereg_mr has withdrawn is not written to any more: the payload is dropped.
/// @param ring our own queue of the receives. @param pd number of their protection domain.
/// @param position of the receive, which has been posted. @return 0 or EFAULT.
int deliver(const Adapter& adapter, const ReceiveRing& ring, std::uint32_t pd, const CqEntry& entry,
            std::uint32_t position);

}  // namespace softverbs
