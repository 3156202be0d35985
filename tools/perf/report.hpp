// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What dat_perf writes to standard output.
#pragma once

#include "tools/perf/client.hpp"

namespace perf {

/// Of the JSON document, which dat_perf(1) describes. Raised when a reader must change.
constexpr int kSchemaVersion = 1;

/// What goes before the rows.
void print_heading(const Findings& findings, const Options& options);
/// Prints the last result, below what goes before it.
void print_row(const Findings& findings, const Options& options);
void print_json(const Findings& findings, const Options& options);

}  // namespace perf
