// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Explains from which dat.conf and which of its records an IA comes, and why not from the others.
#pragma once

#include "dat/registry/registry.hpp"
#include "support/base/facts.hpp"

namespace info {

/// @param served the key that libdat2 looks up.
/// @param taken place of the record in use, FILE:LINE; "" when none can be used.
void explain_records(const support::Facts& facts, const dat::Registry& registry,
                     const dat::Key& asked, const dat::Key& served, const std::string& taken);

/// @return for example `u2.0 nonthreadsafe`
std::string version_text(const dat::Key& key);

}  // namespace info
