// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports to the user what happened. Settings and the trace report too, and the log obeys
/// settings, so this is the lowest part of the log; support/log/log.cpp writes the line.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "support/base/messages.hpp"

namespace support {

namespace detail {
void report(const Message& message, fmt::format_args arguments);  // log.cpp
constexpr int count_fields(std::string_view format) {
    int fields = 0;
    for (const char c : format) fields += c == '{';
    return fields;
}
}  // namespace detail

/// Writes `opendat: error: TEXT; NEXT STEP [ID]`, one line, to stderr, a file or syslog, as set by
/// OPENDAT_LOG. The arguments fill the text first and then the next step. Text from files or peers
/// is always an argument, never a format. Thread safe; must not be called with a spin lock held.
template <const Message& message, class... Arguments>
void report(const Arguments&... arguments) {
    static_assert(is_in_catalogue(message),
                  "what is printed is in messages.def, where dat_strerror finds it");
    static_assert(detail::count_fields(message.text) + detail::count_fields(message.next_step) ==
                  sizeof...(Arguments));
    detail::report(message, fmt::make_format_args(arguments...));
}

}  // namespace support
