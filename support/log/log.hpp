// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports for the user (report), traces for the developer (trace), and where the lines go.
#pragma once

#include <string>

#include "support/base/report.hpp"
#include "support/trace/trace_line.hpp"

namespace support::detail {

/// Writes a line of a dump, whatever the level in force.
void write(Level level, const std::string& line);

}  // namespace support::detail
