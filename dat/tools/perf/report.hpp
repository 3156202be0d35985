// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What dat_perf writes to standard output.
#pragma once

#include "dat/tools/perf/client.hpp"

namespace perf {

/// Of the JSON document, which dat_perf(1) describes. Raised when a reader must change.
constexpr int kSchemaVersion = 1;

void print_table(const Findings& findings, const Options& options);
void print_json(const Findings& findings, const Options& options);

}  // namespace perf
