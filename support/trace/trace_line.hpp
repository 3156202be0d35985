// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Trace lines for developers, written when the trace level asks for them.
#pragma once

#include <fmt/core.h>

#include "support/base/messages.hpp"
#include "support/trace/trace_level.hpp"

namespace support {

namespace detail {
void trace(Level level, fmt::string_view format, fmt::format_args arguments);  // log.cpp
}

/// Writes one line to where messages go; costs a relaxed load and a branch when off. Thread safe;
/// must not be called with a spin lock held.
template <class... Arguments>
void trace(Level level, fmt::format_string<const Arguments&...> format,
           const Arguments&... arguments) {
    if (trace_level() < static_cast<int>(level)) return;
    detail::trace(level, format, fmt::make_format_args(arguments...));
}

}  // namespace support
