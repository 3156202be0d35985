// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Derives findings from the dry run of an IA.
#pragma once

#include "tools/doctor/finding.hpp"
#include "tools/info/finding.hpp"

namespace doctor {

/// @param facts result of info::explain_ia().
void check_ia(const std::string& ia_name, const info::KnownFacts& facts, Findings& findings);

}  // namespace doctor
