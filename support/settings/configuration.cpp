// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/configuration.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/base/edit_distance.hpp"
#include "support/settings/setting_values.hpp"
#include "support/settings/yaml_tree.hpp"

namespace support {
namespace {

using Kind = ConfigurationProblem::Kind;
constexpr std::size_t kMaxFound = 40;

std::string cut(std::string text) {
    if (text.size() > kMaxFound) text = text.substr(0, kMaxFound - 3) + "...";
    return text;
}

std::string found_in(const YamlNode& node) {
    switch (node.kind) {
        case YamlNode::Kind::kScalar:
            return cut(node.text);
        case YamlNode::Kind::kNull:
            return "";
        case YamlNode::Kind::kMap:
            return "names with values";
        case YamlNode::Kind::kList:
            return "a list";
    }
    return "";
}

const SettingInfo& info_of(Setting setting) {
    return kSettings[static_cast<int>(setting)];
}

class Interpreter {
  public:
    ConfigurationText take() { return std::move(result_); }

    void refuse(const YamlFault& fault) {
        result_.problems.push_back(
            {Kind::kNotYaml, fault.line, fault.column, {}, fault.text, {}, {}, {}});
    }

    void read_root(const YamlNode& root) {
        for_each_pair(
            root, "the file", "section", [&](const YamlNode& name, const YamlNode& value) {
                if (name.text == "settings") return read_settings(value, "settings", "");
                if (name.text == "ias") return read_ias(value);
                if (name.text == "trace" || name.text == "softverbs")
                    return read_short_names(value, name.text);
                unknown(name, "section",
                        nearest_name(cut(name.text), {"settings", "ias", "trace", "softverbs"}));
            });
    }

  private:
    /// @param of what the map is called in messages. @param names what a name in it is.
    template <class Read>
    void for_each_pair(const YamlNode& map, const std::string& of, const char* names,
                       const Read& read) {
        if (map.kind == YamlNode::Kind::kNull) return;
        if (map.kind != YamlNode::Kind::kMap)
            return bad(map, of,
                       fmt::format("a {} with its value on each line (NAME: VALUE)", names));
        std::map<std::string_view, int> seen;  // name to line
        for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
            const YamlNode& name = map.children[i];
            if (name.kind != YamlNode::Kind::kScalar) {
                bad(name, fmt::format("a {}", names), "a name");
                continue;
            }
            const auto [first, is_first] = seen.emplace(name.text, name.line);
            if (is_first)
                read(name, map.children[i + 1]);
            else
                twice(name, name.text, first->second);
        }
    }

    void read_settings(const YamlNode& map, const std::string& of, const std::string& ia_name) {
        ia_name_ = ia_name;
        for_each_pair(map, of, "setting", [&](const YamlNode& name, const YamlNode& value) {
            const auto setting = find_setting(name.text);
            if (!setting) return unknown(name, "setting", nearest_setting(cut(name.text)));
            add(*setting, name.text, value);
        });
        ia_name_.clear();
    }

    void read_short_names(const YamlNode& map, const std::string& section) {
        for_each_pair(map, section, "name", [&](const YamlNode& name, const YamlNode& value) {
            bool known = false;
            std::vector<std::string_view> names;
            for (const ConfigurationShortName& row : kShortNames) {
                if (section != row.section) continue;
                names.emplace_back(row.name);
                if (name.text != row.name) continue;
                // An error in the value is the same for both settings, and is reported once.
                known = true;
                if (!add(row.setting, section + "." + name.text, value)) return;
            }
            if (!known) unknown(name, "key of " + section, nearest_name(cut(name.text), names));
        });
    }

    void read_ias(const YamlNode& list) {
        if (list.kind == YamlNode::Kind::kNull) return;
        if (list.kind != YamlNode::Kind::kList)
            return bad(list, "ias", "a list whose entries begin with '- ia_name: NAME'");
        for (const YamlNode& entry : list.children) read_ia(entry);
    }

    void read_ia(const YamlNode& entry) {
        ConfiguredIa ia{{}, entry.line, entry.column, {}};
        const YamlNode* settings = nullptr;
        for_each_pair(
            entry, "an entry of ias", "field", [&](const YamlNode& name, const YamlNode& value) {
                if (name.text == "settings")
                    settings = &value;
                else if (value.kind == YamlNode::Kind::kMap || value.kind == YamlNode::Kind::kList)
                    bad(value, name.text, "a single value");
                else
                    ia.fields.push_back(
                        {name.text, value.text, value.line, value.column, name.line, name.column});
            });
        if (entry.kind != YamlNode::Kind::kMap) {
            if (entry.kind == YamlNode::Kind::kNull) bad(entry, "an entry of ias", "ia_name: NAME");
            return;
        }
        for (const ConfiguredField& field : ia.fields)
            if (field.name == "ia_name") ia.ia_name = field.value;
        if (ia.ia_name.empty()) return bad(entry, "ia_name of this entry", "a name", "");
        if (settings) read_settings(*settings, "settings of " + ia.ia_name, ia.ia_name);
        result_.ias.push_back(std::move(ia));
    }

    /// @return false when the value is left out.
    bool add(Setting setting, const std::string& name, const YamlNode& value) {
        const std::string expected = objection(setting, value);
        if (!expected.empty()) bad(value, name, expected);
        if (expected.empty())
            result_.settings.push_back({setting, ia_name_, value.text, value.line, value.column});
        return expected.empty();
    }

    /// @return what is expected instead, empty when the value is valid.
    std::string objection(Setting setting, const YamlNode& value) const {
        const SettingInfo& info = info_of(setting);
        if (setting == Setting::kConfig || setting == Setting::kDatOverride)
            return "no value in a file: only the environment says which files are read";
        if (!ia_name_.empty() && info.scope != SettingScope::kForIa)
            return "no value for one IA: it is for the process, in the section settings";
        if (value.kind != YamlNode::Kind::kScalar || !is_valid(info, value.text))
            return accepted_values(info);
        for (const ConfiguredSetting& other : result_.settings)
            if (other.setting == setting && other.ia_name == ia_name_)
                return fmt::format("only one value: line {} already sets it", other.line);
        return {};
    }

    void unknown(const YamlNode& name, std::string place, std::string nearest) {
        result_.problems.push_back({Kind::kUnknownName,
                                    name.line,
                                    name.column,
                                    cut(name.text),
                                    {},
                                    std::move(nearest),
                                    std::move(place),
                                    ia_name_});
    }
    void twice(const YamlNode& at, const std::string& name, int line) {
        bad(at, name, fmt::format("only one value: line {} already sets it", line));
    }
    void bad(const YamlNode& at, const std::string& name, std::string expected) {
        bad(at, name, std::move(expected), found_in(at));
    }
    void bad(const YamlNode& at, const std::string& name, std::string expected, std::string found) {
        result_.problems.push_back({Kind::kBadValue,
                                    at.line,
                                    at.column,
                                    cut(name),
                                    std::move(found),
                                    std::move(expected),
                                    {},
                                    ia_name_});
    }

    ConfigurationText result_;
    std::string ia_name_;  ///< the IA whose settings are being read
};

}  // namespace

ConfigurationText read_configuration(std::string_view text, YamlReader reader) {
    Interpreter interpreter;
    if (const auto root = read_yaml(text, reader))
        interpreter.read_root(*root);
    else
        interpreter.refuse(root.error());
    return interpreter.take();
}

std::string problem_text(const ConfigurationProblem& problem) {
    switch (problem.kind) {
        case Kind::kNotYaml:
            return "not valid YAML: " + problem.found;
        case Kind::kUnknownName:
            return fmt::format("'{}' is an unknown {}", problem.name, problem.place);
        case Kind::kBadValue:
            break;
    }
    return fmt::format("{} is '{}', expected {}", problem.name, problem.found, problem.expected);
}

std::string problem_hint(const ConfigurationProblem& problem) {
    switch (problem.kind) {
        case Kind::kNotYaml:
            return "the file is ignored until it is corrected";
        case Kind::kUnknownName:
            return fmt::format("did you mean {}?", problem.expected);
        case Kind::kBadValue:
            break;
    }
    return "it is ignored, see opendat.yaml(5)";
}

}  // namespace support
