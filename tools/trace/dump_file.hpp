// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A snapshot in a file, to be read on another machine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tools/trace/snapshot.hpp"

namespace tracing {

std::vector<std::byte> to_dump(const Snapshot& snapshot);
bool is_dump(std::span<const std::byte> bytes);
/// Throws tools::Failure unless the bytes are the output of to_dump().
/// @param name name of the file, for messages.
Snapshot from_dump(std::span<const std::byte> bytes, const std::string& name);

}  // namespace tracing
