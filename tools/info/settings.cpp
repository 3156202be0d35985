// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "dat/registry/lifetime.hpp"
#include "tools/common/terminal.hpp"

namespace info {
namespace {

using support::SettingInfo;
using support::SettingKind;

bool is_ia(std::string_view name) {
    const auto registry = dat::registry();
    return registry &&
           std::any_of(registry->entries().begin(), registry->entries().end(),
                       [&](const dat::Entry& entry) { return entry.key.ia_name == name; });
}

const char* kind_text(SettingKind kind) {
    switch (kind) {
        case SettingKind::kPath:
            return "path";
        case SettingKind::kInteger:
            return "integer";
        case SettingKind::kFlag:
            return "flag";
        case SettingKind::kText:
            break;
    }
    return "text";
}

bool is_obeyed_in_setuid(const SettingInfo& info) {
    return info.in_setuid == support::InSetuid::kObeyed;
}

std::string quoted(const std::string& text) {
    return text.empty() ? "(none)" : text;
}

std::string to_text(const ShownSetting& setting) {
    const SettingInfo& info = setting.info;
    const bool is_default = setting.value.origin == support::SettingOrigin::kDefault;
    const std::string name = tools::coloured(
        stdout, is_default ? tools::Colour::kHeading : tools::Colour::kGood, info.name);
    std::string text = fmt::format("{} = {}{}{}  [{}]\n", name, quoted(setting.value.text),
                                   *info.unit ? " " : "", info.unit, setting.value.where);
    text += fmt::format("    {}\n    default {}; {}\n", info.help, quoted(info.default_value),
                        is_obeyed_in_setuid(info) ? "obeyed in set-uid programs"
                                                  : "not obeyed in set-uid programs");
    return text;
}

std::string to_text(const support::UnusedSetting& unused) {
    return fmt::format("  {}{}{}{}  [{}]  {}: {}\n", unused.name, unused.value.empty() ? "" : " = ",
                       unused.value, unused.ia_name.empty() ? "" : " of " + unused.ia_name,
                       unused.where, support::to_text(unused.because), unused.explanation);
}

tools::Json to_json(const ShownSetting& setting) {
    const SettingInfo& info = setting.info;
    tools::Json one = tools::Json::object();
    one.put("name", info.name)
        .put("value", setting.value.text)
        .put("source", setting.value.where)
        .put("default", info.default_value)
        .put("type", kind_text(info.kind))
        .put("unit", info.unit)
        .put("help", info.help)
        .put("obeyed_in_setuid", is_obeyed_in_setuid(info))
        .put("per_ia", info.scope == support::SettingScope::kForIa);
    if (info.kind == SettingKind::kInteger)
        one.put("minimum", info.minimum).put("maximum", info.maximum);
    return one;
}

tools::Json to_json(const support::UnusedSetting& unused) {
    tools::Json one = tools::Json::object();
    one.put("name", unused.name)
        .put("ia", unused.ia_name)
        .put("value", unused.value)
        .put("where", unused.where)
        .put("because", support::to_text(unused.because))
        .put("explanation", unused.explanation);
    return one;
}

}  // namespace

Settings show_settings(const std::string& ia_name) {
    Settings settings{ia_name, {}, support::unused_settings(is_ia)};
    for (std::size_t i = 0; i < std::size(support::kSettings); ++i)
        settings.all.push_back({support::kSettings[i],
                                support::setting_value(static_cast<support::Setting>(i), ia_name)});
    return settings;
}

std::string to_text(const Settings& settings) {
    std::string text;
    for (const ShownSetting& setting : settings.all) text += to_text(setting);
    if (settings.unused.empty()) return text;
    text += tools::coloured(stdout, tools::Colour::kWarning, "set, but not used:") + '\n';
    for (const support::UnusedSetting& unused : settings.unused) text += to_text(unused);
    return text;
}

tools::Json to_json(const Settings& settings) {
    tools::Json all = tools::Json::array();
    for (const ShownSetting& setting : settings.all) all.add(to_json(setting));
    tools::Json unused = tools::Json::array();
    for (const support::UnusedSetting& one : settings.unused) unused.add(to_json(one));
    tools::Json document = tools::Json::document("dat_info");
    document.put("ia", settings.ia_name)
        .put("settings", std::move(all))
        .put("unused", std::move(unused));
    return document;
}

}  // namespace info
