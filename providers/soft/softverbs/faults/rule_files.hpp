// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Files of fault rules: a rule in each line, or a YAML list (softverbs-fault(5), FILES).
#pragma once

#include "providers/soft/softverbs/faults/rule_text.hpp"
#include "support/settings/yaml_tree.hpp"

namespace softverbs::faults {

/// @param path of the file; it is YAML if its name ends in .yaml or .yml.
/// @return the rules, or a sentence without full stop that says what is wrong and where, without
/// the path.
tl::expected<std::vector<Rule>, std::string> read_rules_file(const std::string& path);

/// @return the rules, or, for the first bad one, its line and column and what is wrong.
tl::expected<std::vector<Rule>, std::string> parse_yaml_rules(std::string_view text,
                                                              support::YamlReader reader);

/// @return the rules as parse_rules() reads them, one in each line.
std::string to_text(const std::vector<Rule>& rules);

}  // namespace softverbs::faults
