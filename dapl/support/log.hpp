// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Telling the user (report) and the developer (trace). It goes to stderr, a file or syslog, as the
/// settings say (OPENDAT_LOG). Thread safe; not to be called with a spin lock held.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "dapl/support/messages.hpp"
#include "dapl/support/trace_ring.hpp"

namespace support {

namespace detail {
int initial_trace_level();
void report(const Message& message, fmt::format_args arguments);
void trace(Level level, fmt::string_view format, fmt::format_args arguments);
/// A line of a dump, whatever the level in force.
void write(Level level, const std::string& line);
constexpr int count_fields(std::string_view format) {
    int fields = 0;
    for (const char c : format) fields += c == '{';
    return fields;
}
}  // namespace detail

/// Level in force in this library, 0 to 10: a relaxed load, so a change is seen soon, not at once.
inline int trace_level() {
    const int level = opendat_trace_object.level.load(std::memory_order_relaxed);
    return level >= 0 ? level : detail::initial_trace_level();
}
void set_trace_level(int level);

/// Tells the user what happened, `opendat: error: TEXT; NEXT STEP [ID]` on one line of stderr. The
/// arguments fill the text first and then the next step. Text from files or peers is an argument,
/// never a format.
template <const Message& message, class... Arguments>
void report(const Arguments&... arguments) {
    static_assert(is_in_catalogue(message),
                  "what is printed is in messages.def, where dat_strerror finds it");
    static_assert(detail::count_fields(message.text) + detail::count_fields(message.next_step) ==
                  sizeof...(Arguments));
    detail::report(message, fmt::make_format_args(arguments...));
}

/// One trace line; a relaxed load and a branch when off.
template <class... Arguments>
void trace(Level level, fmt::format_string<const Arguments&...> format,
           const Arguments&... arguments) {
    if (trace_level() < static_cast<int>(level)) return;
    detail::trace(level, format, fmt::make_format_args(arguments...));
}

}  // namespace support
