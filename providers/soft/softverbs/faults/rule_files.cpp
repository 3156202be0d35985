// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/rule_files.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "providers/soft/softverbs/faults/faults.hpp"
#include "support/base/text_file.hpp"
#include "support/settings/yaml_module.hpp"

namespace softverbs::faults {
namespace {

using support::YamlNode;
using Kind = YamlNode::Kind;

/// Why a rule is wrong, and the node that shows it.
struct Wrong {
    int line, column;
    std::string text;
};
template <class T>
using Expected = tl::expected<T, Wrong>;

tl::unexpected<Wrong> wrong(const YamlNode& node, std::string text) {
    return tl::unexpected(Wrong{node.line, node.column, std::move(text)});
}

bool is_scalar(const YamlNode& node) {
    return node.kind == Kind::kScalar;
}

/// Takes a scalar that becomes a part of a rule's text. It must not end a word, or the rule, early.
Expected<std::string> word(const YamlNode& node, const char* forbidden) {
    if (!is_scalar(node) || node.text.empty()) return wrong(node, "a word is expected here");
    if (node.text.find_first_of(forbidden) != node.text.npos ||
        node.text.find("->") != node.text.npos)
        return wrong(node, fmt::format("'{}' is more than one word", node.text));
    return node.text;
}

constexpr char kOneWord[] = " \t\r\n,:;#=", kWords[] = "\r\n;#=";

/// @return `name value name value` for an action's arguments that are a map, or the scalar.
Expected<std::string> arguments(const YamlNode& node) {
    if (node.kind == Kind::kNull) return std::string();
    if (node.kind != Kind::kMap) return word(node, kWords);
    std::string text;
    for (const YamlNode& child : node.children) {
        const auto part = word(child, kOneWord);
        if (!part) return part;
        text += (text.empty() ? "" : " ") + *part;
    }
    return text;
}

/// @return what stands behind the arrow: of a scalar, or of a map with one action.
Expected<std::string> action(const YamlNode& node) {
    if (node.kind != Kind::kMap) return word(node, kWords);
    if (node.children.size() != 2) return wrong(node, "one action is expected here");
    const auto name = word(node.children[0], kOneWord);
    if (!name) return name;
    const auto rest = arguments(node.children[1]);
    if (!rest) return rest;
    return rest->empty() ? *name : *name + ' ' + *rest;
}

/// A rule that is a map, as its text is put together.
struct Parts {
    std::string subject, conditions, action;
};

Expected<void> add(const YamlNode& name, const YamlNode& value, Parts& parts) {
    if (!is_scalar(name)) return wrong(name, "a word is expected here");
    const bool is_subject = name.text == "on", is_action = name.text == "do";
    auto text = is_action    ? action(value)
                : is_subject ? word(value, kWords)
                             : word(value, kOneWord);
    if (!text) return tl::unexpected(std::move(text.error()));
    std::string& part = is_action ? parts.action : parts.subject;
    if (is_subject || is_action) {
        part = std::move(*text);
        return {};
    }
    const auto key = word(name, kOneWord);
    if (!key) return tl::unexpected(key.error());
    parts.conditions += ' ' + *key + '=' + *text;
    return {};
}

Expected<std::string> text_of_map(const YamlNode& map) {
    Parts parts;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
        const YamlNode& name = map.children[i];
        for (std::size_t k = 0; k < i; k += 2)
            if (map.children[k].text == name.text)
                return wrong(name, fmt::format("'{}' is given twice", name.text));
        if (const auto added = add(name, map.children[i + 1], parts); !added)
            return tl::unexpected(added.error());
    }
    if (parts.subject.empty())
        return wrong(map, "there is no 'on', which says what the rule is for");
    if (parts.action.empty()) return wrong(map, "there is no 'do', which says what happens");
    return parts.subject + parts.conditions + " -> " + parts.action;
}

/// `write: nth=1 -> flush` is a map for YAML, and a rule for us.
bool is_text_with_colon(const YamlNode& node) {
    return node.kind == Kind::kMap && node.children.size() == 2 && is_scalar(node.children[0]) &&
           is_scalar(node.children[1]) && node.children[0].text != "on" &&
           node.children[0].text != "do";
}

Expected<std::string> text_of(const YamlNode& node) {
    if (is_scalar(node)) return node.text;
    if (is_text_with_colon(node)) return node.children[0].text + ": " + node.children[1].text;
    if (node.kind == Kind::kMap) return text_of_map(node);
    return wrong(node, "a rule is expected here: a text, or a map with 'on' and 'do'");
}

/// @return the node in it that has just this text, or the node itself.
const YamlNode& node_with(std::string_view text, const YamlNode& node) {
    for (const YamlNode& child : node.children) {
        if (child.text == text) return child;
        if (const YamlNode& found = node_with(text, child); &found != &child) return found;
    }
    return node;
}

/// Errors of parse_rule() begin with the word that is wrong, in quotes.
const YamlNode& culprit(const std::string& error, const YamlNode& node) {
    const auto end = error.find('\'', 1);
    if (error.empty() || error[0] != '\'' || end == error.npos) return node;
    return node_with(std::string_view(error).substr(1, end - 1), node);
}

Expected<Rule> rule_of(const YamlNode& node) {
    const auto text = text_of(node);
    if (!text) return tl::unexpected(text.error());
    auto rule = parse_rule(*text);
    if (!rule) return wrong(culprit(rule.error(), node), rule.error());
    return std::move(*rule);
}

bool ends_in(std::string_view path, std::string_view end) {
    return path.size() > end.size() && path.substr(path.size() - end.size()) == end;
}

tl::unexpected<std::string> at(int line, int column, const std::string& what) {
    return tl::unexpected(fmt::format("line {}, column {}: {}", line, column, what));
}

}  // namespace

tl::expected<std::vector<Rule>, std::string> parse_yaml_rules(std::string_view text,
                                                              support::YamlReader reader) {
    const auto root = support::read_yaml(text, reader);
    if (!root) return at(root.error().line, root.error().column, root.error().text);
    std::vector<Rule> rules;
    if (root->kind == Kind::kNull) return rules;
    if (root->kind != Kind::kList)
        return at(std::max(root->line, 1), std::max(root->column, 1),
                  "a list of rules is expected");
    for (const YamlNode& node : root->children) {
        auto rule = rule_of(node);
        if (!rule) return at(rule.error().line, rule.error().column, rule.error().text);
        rules.push_back(std::move(*rule));
    }
    return rules;
}

tl::expected<std::vector<Rule>, std::string> read_rules_file(const std::string& path) {
    const auto text = support::read_text_file(path, kMostText);
    if (!text) return tl::unexpected(text.error().text);
    if (!ends_in(path, ".yaml") && !ends_in(path, ".yml")) return parse_rules(*text);
    const support::YamlModule module;
    if (module.reader()) return parse_yaml_rules(*text, module.reader());
    return tl::unexpected("the module that reads YAML cannot be used: " + module.why_not());
}

std::string to_text(const std::vector<Rule>& rules) {
    std::string text;
    for (const Rule& rule : rules) text += to_text(rule) + '\n';
    return text;
}

}  // namespace softverbs::faults
