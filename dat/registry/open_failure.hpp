// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports why an IA could not be opened: one line for each attempt, and nothing after a few of
/// them, since some programs try every name in the file.
#pragma once

#include <string>

#include "dat/registry/registry.hpp"

namespace dat {

inline constexpr int kFailuresTold = 3;

/// Reports that `asked` has no usable provider.
void report_no_provider(const Registry& registry, const Key& asked, const NoProvider& failure);

/// @return whether enough failures were reported, so that a provider must not report its own.
bool further_failures_are_hidden();

/// Counts a failure that the provider itself has reported.
void count_told_failure();

/// Reports that the provider's ia_open returned `code`, `code_text` by name, and reported no cause.
void report_refused(const Lease& lease, DAT_RETURN code, const std::string& code_text);

}  // namespace dat
