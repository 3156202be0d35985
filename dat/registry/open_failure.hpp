// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Telling the user why an IA could not be opened: one line for each attempt, and silence after a
/// few, since some programs try every name in the file.
#pragma once

#include <string>

#include "dat/registry/registry.hpp"

namespace dat {

inline constexpr int kFailuresTold = 3;

/// No provider could be had for `asked`.
void report_no_provider(const Registry& registry, const Key& asked, const NoProvider& failure);

/// Enough have been told: a provider that tells of its own is to be silent.
bool further_failures_are_hidden();

/// The provider has told why it did not open the IA.
void count_told_failure();

/// The provider's ia_open answered `code`, `code_text` by name, and has not told why.
void report_refused(const Lease& lease, DAT_RETURN code, const std::string& code_text);

}  // namespace dat
