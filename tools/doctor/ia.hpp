// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the dry run of an IA means for its health.
#pragma once

#include "tools/doctor/finding.hpp"
#include "tools/info/finding.hpp"

namespace doctor {

/// @param facts of info::explain_ia().
void check_ia(const std::string& ia_name, const info::KnownFacts& facts, Findings& findings);

}  // namespace doctor
