// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Facts as the tool stores and prints them.
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

/// @return a sink that appends to `facts`, which must outlive it.
support::FactSink collect_into(KnownFacts& facts);
/// @return the worst standing.
support::Standing verdict_of(const KnownFacts& facts);

/// @return "works", "degraded" or "fails".
const char* to_text(support::Standing standing);
/// @return the verdict, as a line of its own.
std::string to_sentence(const std::string& ia_name, support::Standing verdict);
/// @return the exit status for a verdict: 0, 3 or 1.
int exit_status_of(support::Standing standing);

/// For stdout, coloured if that is a terminal.
std::string to_table(const KnownFacts& facts);
tools::Json to_json(const KnownFacts& facts);

}  // namespace info
