// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Private between the software device and the registration broker of the core
/// (dapl/verbs/device_extensions.hpp): what peers do with a memory region, and its absence.
#pragma once

#include "dapl/verbs/device_extensions.hpp"

extern "C" {

/// @return whether a context is one of soft0.
bool softverbs_drives(const ibv_context* context);

/// Has peers count from now on how often they read and write a region, also through windows that
/// are bound later.
/// @return the counts, which stay readable until the device is closed, but belong to another region
/// once this one has ended.
const verbs::RegionUses* softverbs_count_region_uses(ibv_mr* region);

/// Takes a region away without ending it. Its memory is used by nobody any more, and a request of
/// ours that names its key fails. A peer's request that names it waits as for a receiver that is
/// not ready, with the queue pair's timer and number of retries, until the region is back or has
/// ended.
/// @param wanted called once a peer waits, on the device's own thread, with a lock held: it must
/// not block, nor call verbs.
/// @return false, with the region as it was, if a window is bound to it, if somebody is in the
/// middle of a transfer, or if it is away already or another process has ended it.
bool softverbs_suspend_region(ibv_mr* region, void (*wanted)(void* context), void* context);
/// Brings a region back under the same keys. @return false if it was not away, or its memory is not
/// mapped any more: it then stays away, and ibv_dereg_mr ends it.
bool softverbs_resume_region(ibv_mr* region);

}  // extern "C"
