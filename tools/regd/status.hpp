// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Prints the report of `dat_regd --status`.
#pragma once

#include <string>
#include <vector>

#include "broker/regd/message.hpp"

namespace regd_tool {

/// Queries the dat_regd that listens at `path`. Throws std::runtime_error if none answers.
std::vector<dapl::memory::regd::Message> ask_status(const std::string& path);
std::string to_table(const std::vector<dapl::memory::regd::Message>& rows);
std::string to_json(const std::vector<dapl::memory::regd::Message>& rows);

}  // namespace regd_tool
