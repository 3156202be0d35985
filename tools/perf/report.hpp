// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Writes the report of dat_perf to stdout.
#pragma once

#include "tools/perf/client.hpp"

namespace perf {

/// Version of the JSON document, which dat_perf(1) describes. Raised when readers must change.
constexpr int kSchemaVersion = 1;

/// Prints what precedes the rows.
void print_heading(const Findings& findings, const Options& options);
/// Prints the last result, after the headings that are due.
void print_row(const Findings& findings, const Options& options);
void print_json(const Findings& findings, const Options& options);

}  // namespace perf
