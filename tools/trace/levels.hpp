// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Changes the trace levels of a running process from outside.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tracing {

/// Changes the levels that are given, in all OpenDAT libraries of the process on that side.
/// @return a line for each library that was changed. Throws tools::Failure, also when no library
/// was.
std::string change_levels(pid_t pid, std::optional<int> dat, std::optional<int> dapl);

}  // namespace tracing
