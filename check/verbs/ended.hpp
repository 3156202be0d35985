// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tells of calls on objects that the program has destroyed, by inline functions of verbs.h.
#pragma once

#include <infiniband/verbs.h>

namespace check::verbs {

/// From now on the device leaves the memory of destroyed objects here. The last ones stay, with a
/// context whose functions tell of the use, so live objects pay nothing.
void keep_ended_objects();

/// Whether the object was destroyed and is kept here. For functions that its own memory points to.
bool has_ended(const ibv_context* context);

}  // namespace check::verbs
