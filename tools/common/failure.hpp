// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The tools report an error by a Failure: which call, which DAT code or event by name, what was
/// expected, what to do next. It is thrown where the error is found and printed once, in main().
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

/// Throws a Failure unless `code` is DAT_SUCCESS. If a limit was hit, the library has already
/// reported which.
void require_success(DAT_RETURN code, const char* call, const char* next_step);

/// The same for dat_ia_open: the library has already reported the cause and what to do about it.
void require_open(DAT_RETURN code, const std::string& ia);
/// Throws a Failure unless the event is that of an established connection.
/// @param call the call that asked for the connection.
void require_established(DAT_EVENT_NUMBER number, const char* call);

}  // namespace tools
