// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which dat.conf and which of its records an IA comes from, and why not the others.
#pragma once

#include "dat/registry/registry.hpp"
#include "support/base/facts.hpp"

namespace info {

/// @param served the key under which libdat2 looks.
/// @param taken where the record stands, FILE:LINE; "" where none can be used.
void explain_records(const support::Facts& facts, const dat::Registry& registry,
                     const dat::Key& asked, const dat::Key& served, const std::string& taken);

/// `u2.0 nonthreadsafe`
std::string version_text(const dat::Key& key);

}  // namespace info
