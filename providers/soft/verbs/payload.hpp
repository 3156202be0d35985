// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Moves the payload of one request, each byte on the path of the page where the target has it.
#pragma once

#include "providers/soft/verbs/atomics.hpp"
#include "providers/soft/verbs/target.hpp"
#include "providers/soft/verbs/transfer.hpp"

namespace softverbs {

/// What a payload takes for its way.
enum class Way { kHere, kProcessVm, kAgent };

/// Decides, and maps what has to be mapped.
/// @param plan kHere: its remote addresses are replaced by ours.
Way choose_way(const Target& target, Plan& plan);
/// The same for an atomic operation: all requesters reach one word by the same way, or by ways that
/// exclude each other.
Way choose_atomic_way(const Target& target, Plan& plan);

/// kProcessVm: with plain copies where pages are shared. The last bytes are placed last.
/// @return 0 or an errno.
int write_to_target(const Target& target, const Plan& plan);
int read_from_target(const Target& target, const Plan& plan);

}  // namespace softverbs
