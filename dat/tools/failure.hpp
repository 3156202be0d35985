// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How the tools tell what went wrong: which call, which DAT code or event by name, what was
/// expected, what to do next. A Failure is thrown where it is found and printed once, in main().
#pragma once

#include <dat2/udat.h>

#include <stdexcept>
#include <string>

namespace tools {

class Failure : public std::runtime_error {
  public:
    /// Printed as `CALL: FOUND: expected EXPECTED; NEXT STEP`.
    Failure(const std::string& call, const std::string& found, const std::string& expected,
            const std::string& next_step)
        : std::runtime_error(call + ": " + found + ": expected " + expected + "; " + next_step) {}
};

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

/// @return `MAJOR MINOR (0xCODE)`.
std::string code_name(DAT_RETURN code);
std::string event_name(DAT_EVENT_NUMBER number);
std::string status_name(DAT_DTO_COMPLETION_STATUS status);

/// Throws a Failure unless `code` is DAT_SUCCESS.
void require_success(DAT_RETURN code, const char* call, const char* next_step);

}  // namespace tools
