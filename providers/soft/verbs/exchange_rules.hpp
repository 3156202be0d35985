// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// When the pages of ordinary memory may be exchanged for shared ones: only where the application
/// cannot notice.
#pragma once

#include "providers/soft/verbs/layout.hpp"
#include "providers/soft/verbs/memory_map.hpp"

namespace softverbs {

/// SOFTVERBS_SHARED_PAGES.
enum class SharedPagesSetting { kAuto, kAlways, kNever };
SharedPagesSetting shared_pages_setting();

/// The answer to whether pages may be exchanged now.
struct Permission {
    PageReason reason = PageReason::kExchanged;  ///< kExchanged: yes
    bool guarded = false;                        ///< by WriteGuard, which can hold writers up
    bool granted() const { return reason == PageReason::kExchanged; }
};

/// To be asked by a thread that goes on to exchange at once: that no other thread writes is true
/// only as long as it does not return to the application.
/// @param on_application_thread not so on the service thread, beside which the application's run.
Permission may_exchange(const MemoryMap& memory, bool on_application_thread);
/// The same for the way back, which adds no mapping that was not there.
Permission may_restore(bool on_application_thread);

}  // namespace softverbs
