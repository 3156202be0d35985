// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/yaml_tree.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace support {
namespace {

/// Deeper than any valid text.
constexpr std::size_t kMaxDepth = 16;

class Builder {
  public:
    /// @return 0 to continue. Stores exceptions instead of throwing them: the parser is C++ of
    /// another library.
    static int take(void* self, const OpendatYamlEvent* event) {
        auto* builder = static_cast<Builder*>(self);
        try {
            return builder->take(*event) ? 0 : -1;
        } catch (...) {
            builder->thrown_ = std::current_exception();
            return -1;
        }
    }

    tl::expected<YamlNode, YamlFault> finish(bool complete) {
        if (thrown_) std::rethrow_exception(thrown_);
        if (fault_) return tl::unexpected(std::move(*fault_));
        if (!complete) return tl::unexpected(YamlFault{1, 1, "it cannot be read"});
        return std::move(root_);
    }

  private:
    bool take(const OpendatYamlEvent& event) {
        switch (event.kind) {
            case OPENDAT_YAML_MAP_BEGIN:
                return open(event, YamlNode::Kind::kMap);
            case OPENDAT_YAML_LIST_BEGIN:
                return open(event, YamlNode::Kind::kList);
            case OPENDAT_YAML_SCALAR:
                add(event, YamlNode::Kind::kScalar);
                return true;
            case OPENDAT_YAML_NULL:
                add(event, YamlNode::Kind::kNull);
                return true;
            case OPENDAT_YAML_MAP_END:
            case OPENDAT_YAML_LIST_END:
                if (!open_.empty()) open_.pop_back();
                return true;
            default:
                return refuse(event, std::string(event.text, event.size));
        }
    }

    bool open(const OpendatYamlEvent& event, YamlNode::Kind kind) {
        if (open_.size() == kMaxDepth) return refuse(event, "it is nested too deeply");
        open_.push_back(add(event, kind));
        return true;
    }

    /// @return the node, valid until a sibling is added, which happens only after it is closed.
    YamlNode* add(const OpendatYamlEvent& event, YamlNode::Kind kind) {
        YamlNode node{kind, event.line, event.column, std::string(event.text, event.size), {}};
        if (!open_.empty()) return &open_.back()->children.emplace_back(std::move(node));
        root_ = std::move(node);
        return &root_;
    }

    bool refuse(const OpendatYamlEvent& event, std::string what) {
        fault_ = {std::max(event.line, 1), std::max(event.column, 1), std::move(what)};
        return false;
    }

    YamlNode root_;
    std::vector<YamlNode*> open_;
    std::optional<YamlFault> fault_;
    std::exception_ptr thrown_;
};

/// The parser takes one of the control characters for the end of the text, and UTF-16 is full of
/// them.
bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

std::optional<YamlFault> find_control(std::string_view text) {
    const auto found = std::find_if(text.begin(), text.end(), is_control);
    if (found == text.end()) return std::nullopt;
    const std::string_view before(text.data(), static_cast<std::size_t>(found - text.begin()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    return YamlFault{static_cast<int>(line), static_cast<int>(column), "a control character"};
}

}  // namespace

tl::expected<YamlNode, YamlFault> read_yaml(std::string_view text, YamlReader reader) {
    if (auto fault = find_control(text)) return tl::unexpected(std::move(*fault));
    Builder builder;
    const bool complete = reader(text.data(), text.size(), Builder::take, &builder) == 0;
    return builder.finish(complete);
}

}  // namespace support
