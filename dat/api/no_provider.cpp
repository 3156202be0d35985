// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls that this library answers itself: with handles that lead to no provider, and those that
/// the provider does not have. A forked child has none of its parent's objects: their pages
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

DAT_RETURN answered_here(DAT_RETURN code, DAT_HANDLE handle, support::TraceSlot slot) {
    if (slot.path == support::TracePath::kData && !support::data_path_traced()) return code;
    const std::uint64_t object = support::trace_word(handle);
    support::trace_call(slot.call, object, {});
    support::trace_return(slot.call, slot.path, object, code, 0);
    return code;
}

}  // namespace dat
