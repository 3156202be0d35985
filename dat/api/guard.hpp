// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary of calls that do more than jump into a provider.
#pragma once

#include <dat2/udat.h>

#include "support/base/guard.hpp"
#include "support/trace/trace_points.hpp"

namespace dat {

/// Runs the body of an entry function with cancellation disabled, so that it does not cut short
/// loading a library, or waiting for another thread that loads one.
template <class Body>
DAT_RETURN guarded(const Body& body) {
    const support::CancellationDisabled disabled;
    return support::guarded<DAT_RETURN>(
        body, DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY,
        DAT_CLASS_ERROR | DAT_INTERNAL_ERROR);
}

/// The same, between two trace records. @param object the object that the call is about, or NULL.
/// @param made where the call stores the handle that it makes, or nullptr.
template <class Body>
DAT_RETURN guarded(support::TraceCall call, DAT_HANDLE object, const DAT_HANDLE* made,
                   const Body& body) {
    const std::uint64_t handle = support::trace_word(object);
    support::trace_call(call, handle, {});
    const DAT_RETURN code = guarded(body);
    support::trace_return(call, support::TracePath::kControl, handle, code,
                          made && code == DAT_SUCCESS ? support::trace_word(*made) : 0);
    return code;
}

}  // namespace dat
