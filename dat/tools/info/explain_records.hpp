// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which dat.conf and which of its records an IA comes from, and why not the others.
#pragma once

#include "dapl/support/facts.hpp"
#include "dat/registry/registry.hpp"

namespace info {

/// @param served the key under which libdat2 looks.
/// @param taken the record's line; 0 where none can be used.
void explain_records(const support::Facts& facts, const dat::Key& asked, const dat::Key& served,
                     int taken);

/// `u2.0 nonthreadsafe`
std::string version_text(const dat::Key& key);

}  // namespace info
