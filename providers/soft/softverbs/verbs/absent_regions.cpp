// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/absent_regions.hpp"

#include "providers/soft/softverbs/verbs/memory_regions.hpp"

namespace softverbs {

void AbsentRegions::enter(MemoryRegion& region) {
    support::MutexLock lock(mutex_);
    region.next_absent = first_;
    first_ = &region;
}

void AbsentRegions::leave(const MemoryRegion& region) {
    support::MutexLock lock(mutex_);
    MemoryRegion** link = &first_;
    while (*link && *link != &region) link = &(*link)->next_absent;
    if (*link) *link = region.next_absent;
}

void AbsentRegions::serve_doorbell(ArenaView own) {
    std::atomic<std::uint32_t>& asked = own.header().regions_wanted;
    if (asked.load(std::memory_order_relaxed) == 0) return;
    asked.store(0, std::memory_order_seq_cst);
    support::MutexLock lock(mutex_);
    for (const MemoryRegion* region = first_; region; region = region->next_absent)
        if (own.mr(region->lkey).absence.load(std::memory_order_seq_cst) == Absence::kWanted)
            region->wanted.tell(region->wanted.context);
}

}  // namespace softverbs
