// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports what was found, for people, for programs and for continuous integration.
#pragma once

#include "tools/softverbs/explore/finding.hpp"

namespace softverbs::explore {

std::string as_text(const Findings& findings);
/// The schema is doc/schema/softverbs_explore.json.
std::string as_json(const Options& options, const Findings& findings);
/// @return a test suite with a case for each run.
std::string as_junit(const Options& options, const Findings& findings);

/// Writes a directory for each kind into options.keep, or nothing if that is "". @throw
/// std::exception when it cannot.
void keep(const Options& options, const Findings& findings);

}  // namespace softverbs::explore
