// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reads which checks the user wants.
#pragma once

#include <string_view>

#include "check/model/finding.hpp"

namespace check {

/// @return what OPENDAT_CHECK and OPENDAT_CHECK_ACTION say of an IA. Reports unknown words once. No
/// lock may be held.
Policy policy_of(std::string_view ia_name);

}  // namespace check
