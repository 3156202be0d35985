// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Facts as the tool keeps them, and how they are printed.
#pragma once

#include <string>
#include <vector>

#include "support/base/facts.hpp"
#include "tools/common/json.hpp"

namespace info {

struct KnownFact {
    std::string subject, value, source;
    support::Standing standing = support::Standing::kWorks;
    std::string note;
};
using KnownFacts = std::vector<KnownFact>;

/// @return a sink that appends to `facts`, which outlives it.
support::FactSink collect_into(KnownFacts& facts);
/// The worst.
support::Standing verdict_of(const KnownFacts& facts);

/// works, degraded or fails.
const char* to_text(support::Standing standing);
/// The verdict, as a line of its own.
std::string to_sentence(const std::string& ia_name, support::Standing verdict);
/// The exit status of a verdict: 0, 3 or 1.
int exit_status_of(support::Standing standing);

/// For stdout, in colours where that is a terminal.
std::string to_table(const KnownFacts& facts);
tools::Json to_json(const KnownFacts& facts);

}  // namespace info
