// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Draws the results: a panel for each test, a line for each operation over the sizes.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/client.hpp"

namespace perf {

/// @return an SVG document
std::string plot_of(const std::vector<Result>& results, const std::string& title);
/// @throws tools::Failure if the file cannot be written
void write_plot(const std::string& path, const std::string& document);

}  // namespace perf
