// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reads which checks the user wants.
#pragma once

#include <string_view>

#include "check/model/finding.hpp"
#include "support/settings/settings.hpp"

namespace check {

/// @param checks the setting with the list of checks, OPENDAT_CHECK or SOFTVERBS_CHECK.
/// @return what it and OPENDAT_CHECK_ACTION say of an IA, or of the process if it has no name.
/// Reports unknown words once. No lock may be held.
Policy policy_of(support::Setting checks, std::string_view ia_name, const Words& words);

}  // namespace check
