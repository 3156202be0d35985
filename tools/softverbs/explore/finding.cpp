// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/finding.hpp"

#include <algorithm>
#include <cctype>

#include "providers/soft/softverbs/faults/rule_text.hpp"

namespace softverbs::explore {
namespace {

bool is_plain(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
    if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

}  // namespace

std::string shape_of(const std::string& rule) {
    auto parsed = faults::parse_rule(rule);
    if (!parsed) return rule;
    parsed->nth = 0;
    parsed->queue_pair = 0;
    parsed->rank.clear();
    return faults::to_text(*parsed);
}

std::vector<std::string> shapes_of(const Rules& rules) {
    std::vector<std::string> shapes;
    for (const std::string& rule : rules) shapes.push_back(shape_of(rule));
    std::sort(shapes.begin(), shapes.end());
    shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
    return shapes;
}

Rules rules_with(const Rules& rules, const std::vector<std::string>& shapes) {
    Rules found;
    for (const std::string& rule : rules)
        if (std::binary_search(shapes.begin(), shapes.end(), shape_of(rule))) found.push_back(rule);
    return shapes_of(found) == shapes ? found : Rules();
}

std::string for_shell(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
    return text;
}

}  // namespace softverbs::explore
