// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Opens what the command line names.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tools/trace/snapshot.hpp"

namespace tracing {

/// @return the process id, or nullopt when the text is none.
std::optional<pid_t> parse_pid(const std::string& text);
/// Reads a dump or a core file, whichever the contents are. Throws tools::Failure.
Snapshot from_bytes(std::span<const std::byte> bytes, const std::string& name);
/// Opens a process if the text is a number, else a file. Throws tools::Failure.
Snapshot open_target(const std::string& target);
Snapshot open_file(const std::string& path);

}  // namespace tracing
