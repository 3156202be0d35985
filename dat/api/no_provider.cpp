// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Handles that lead to no provider. A forked child has none of its parent's objects: their pages
/// read as zero there.
#include <unistd.h>

#include <atomic>

#include "dat/api/dispatch.hpp"
#include "support/base/guard.hpp"
#include "support/log/log.hpp"
#include "support/trace/trace_text.hpp"

namespace dat {

DAT_RETURN no_provider(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle, support::TraceCall call) {
    static std::atomic<bool> told{false};
    if (!made_before_fork(handle)) return error(DAT_INVALID_HANDLE, kind);
    support::report_once(told, [&] {
        support::report<support::kUsedAfterFork>(
            support::call_name(static_cast<std::uint32_t>(call)), static_cast<const void*>(handle),
            getpid());
    });
    return error(DAT_INVALID_HANDLE, kind);
}

}  // namespace dat
