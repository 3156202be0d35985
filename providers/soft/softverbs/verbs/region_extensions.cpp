// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/region_extensions.hpp"

#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

using softverbs::CancellationDisabled;
using softverbs::MemoryRegion;

bool softverbs_drives(const ibv_context* context) {
    return softverbs::is_soft(*context);
}

const verbs::RegionUses* softverbs_count_region_uses(ibv_mr* mr) {
    return &softverbs::begin_counting(MemoryRegion::of(mr));
}

bool softverbs_suspend_region(ibv_mr* mr, void (*wanted)(void*), void* context) {
    const CancellationDisabled guard;
    return softverbs::suspend(MemoryRegion::of(mr), {wanted, context}) == 0;
}

bool softverbs_resume_region(ibv_mr* mr) {
    const CancellationDisabled guard;
    try {
        return softverbs::resume(MemoryRegion::of(mr)) == 0;
    } catch (const std::bad_alloc&) {
        return false;
    }
}
