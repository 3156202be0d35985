// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fault rules as text: `SUBJECT[:] [KEY=VALUE]... -> ACTION [ARGUMENT]`, and for a port
/// `port NAME: down [for TIME] [every TIME]`. softverbs-fault(5) describes them to users.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "providers/soft/softverbs/faults/rule.hpp"

namespace softverbs::faults {

/// @return the rule, or a sentence without full stop that says what is wrong and where.
tl::expected<Rule, std::string> parse_rule(std::string_view text);

/// Reads rules that are separated by line breaks or semicolons. What follows a `#` up to the end of
/// the line is a comment.
/// @return the rules, or, for the first bad one, its number among the lines and what is wrong.
tl::expected<std::vector<Rule>, std::string> parse_rules(std::string_view text);

/// @return text from which parse_rule() makes the same rule.
std::string to_text(const Rule& rule);

struct PortName {
    unsigned device = 0;  ///< 0 to 15
    unsigned port = 0;    ///< 0: the name is that of the device
};
/// @return nullopt unless the name is like `soft1` or `soft1/2`.
std::optional<PortName> parse_port(std::string_view name);

/// @return "1.5ms": with the largest unit that needs no rounding.
std::string to_text(Duration duration);

}  // namespace softverbs::faults
