// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary of calls that do more than jump into a provider.
#pragma once

#include <dat2/udat.h>

#include "dapl/support/guard.hpp"

namespace dat {

/// Runs the body of an entry function. Loading libraries and waiting for another thread that does
/// are not cut short by a cancellation.
template <class Body>
DAT_RETURN guarded(const Body& body) {
    const support::CancellationDisabled disabled;
    return support::guarded<DAT_RETURN>(
        body, DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY,
        DAT_CLASS_ERROR | DAT_INTERNAL_ERROR);
}

}  // namespace dat
