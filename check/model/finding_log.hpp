// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The log of findings (OPENDAT_CHECK_LOG): a JSON object in each line, as
/// doc/schema/opendat_check.json says.
#pragma once

#include <string>

namespace check {

struct LoggedFinding {
    const char* message;  ///< its id
    const char* check;
    const char* call;
    std::string place;
    std::string text;
};

/// Appends a line, if there is a log. The file may be shared with other processes. Thread safe.
void log_finding(const LoggedFinding& finding);

}  // namespace check
