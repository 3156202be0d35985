// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/configured_ias.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "dat/registry/conf_fields.hpp"
#include "support/settings/configuration_files.hpp"
#include "support/settings/setting_values.hpp"
#include "support/settings/settings.hpp"

namespace dat {
namespace {

using support::ConfigurationProblem;
using support::ConfiguredField;
using support::ConfiguredIa;

std::string cut(std::string text) {
    if (text.size() > kMaxFound) text = text.substr(0, kMaxFound - 3) + "...";
    return text;
}

const ConfiguredField* find_field(const ConfiguredIa& entry, std::string_view name) {
    for (const ConfiguredField& field : entry.fields)
        if (field.name == name) return &field;
    return nullptr;
}

std::optional<ConfigurationProblem> find_unknown_name(const ConfiguredIa& entry) {
    std::vector<std::string_view> names{"settings"};
    for (const ConfField& field : conf_fields()) names.emplace_back(field.name);
    for (const ConfiguredField& field : entry.fields)
        if (std::find(names.begin(), names.end(), field.name) == names.end())
            return ConfigurationProblem{ConfigurationProblem::Kind::kUnknownName,
                                        field.name_line,
                                        field.name_column,
                                        cut(field.name),
                                        {},
                                        support::nearest_name(cut(field.name), names),
                                        "field of an IA",
                                        {}};
    return std::nullopt;
}

/// @return what is wrong with the field, nullopt when it is valid.
std::optional<ConfigurationProblem> read_field(const ConfField& field, const ConfiguredIa& entry,
                                               ConfRecord& record) {
    const ConfiguredField* given = find_field(entry, field.name);
    std::string text = given ? given->value : field.absent ? field.absent : "";
    const bool right = (given || field.absent) && text.find('\0') == std::string::npos;
    std::string found = cut(text);
    if (right && field.read(text, record)) return std::nullopt;
    return ConfigurationProblem{ConfigurationProblem::Kind::kBadValue,
                                given ? given->line : entry.line,
                                given ? given->column : entry.column,
                                std::string(field.name) + " of " + cut(entry.ia_name),
                                std::move(found),
                                field.accepted,
                                {},
                                {}};
}

void read_entry(const ConfiguredIa& entry, ConfiguredIas& into) {
    if (auto problem = find_unknown_name(entry)) {
        into.problems.push_back(std::move(*problem));
        return;
    }
    if (entry.fields.size() == 1) return;  // ia_name: the rest of the entry is settings
    ConfRecord record;
    record.line = entry.line;
    for (const ConfField& field : conf_fields())
        if (auto problem = read_field(field, entry, record)) {
            into.problems.push_back(std::move(*problem));
            return;
        }
    into.records.push_back(std::move(record));
}

}  // namespace

ConfiguredIas read_configured_ias(const std::string& path,
                                  const std::vector<ConfiguredIa>& entries) {
    ConfiguredIas all{path, {}, {}};
    for (const ConfiguredIa& entry : entries) read_entry(entry, all);
    return all;
}

std::vector<ConfiguredIas> read_configured_ias() {
    std::vector<ConfiguredIas> all;
    if (setting_is_set(support::Setting::kDatOverride)) return all;
    const support::ConfigurationInUse configuration;
    for (const support::ConfigurationFile& file : configuration.files())
        if (!file.text.ias.empty()) all.push_back(read_configured_ias(file.path, file.text.ias));
    return all;
}

}  // namespace dat
