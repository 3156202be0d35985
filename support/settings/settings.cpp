// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/settings.hpp"

#include <atomic>
#include <iterator>

#include "support/base/report.hpp"
#include "support/settings/environment.hpp"
#include "support/settings/setting_sources.hpp"
#include "support/settings/setting_values.hpp"

namespace support {
namespace {

const SettingInfo& info_of(Setting setting) {
    return kSettings[static_cast<int>(setting)];
}

/// @return true once per setting and process, so that reading it often gives one report.
bool first_report(Setting setting) {
    static std::atomic<bool> told[std::size(kSettings)];
    return !told[static_cast<int>(setting)].exchange(true, std::memory_order_relaxed);
}

/// The values of files were checked when they were read; a variable's may be wrong.
void report_bad_variable(Setting setting, const std::string& instead) {
    const SettingInfo& info = info_of(setting);
    const char* text = environment_value(setting);
    long number = 0;
    if (!text || info.kind != SettingKind::kInteger || is_in_range(info, text, number)) return;
    if (first_report(setting))
        report<kBadSettingValue>(info.name, text, accepted_values(info), instead);
}

}  // namespace

bool setting_is_set(Setting setting, std::string_view ia_name) {
    return setting_value(setting, ia_name).origin != SettingOrigin::kDefault;
}

std::string setting_text(Setting setting, std::string_view ia_name) {
    return setting_value(setting, ia_name).text;
}

long setting_integer(Setting setting, std::string_view ia_name) {
    const SettingValue value = setting_value(setting, ia_name);
    report_bad_variable(setting, value.text);
    long number = 0;
    parse_integer(value.text.c_str(), number);
    return number;
}

bool setting_flag(Setting setting, std::string_view ia_name) {
    const std::string value = setting_text(setting, ia_name);
    return !(value.empty() || value == "0" || value == "no" || value == "false" || value == "off");
}

bool setting_is_superseded(Setting setting, Setting by, std::string_view ia_name) {
    const int force = setting_value(setting, ia_name).force;
    return force > 0 && force <= setting_value(by, ia_name).force;
}

std::string setting_label(Setting setting, std::string_view ia_name) {
    const SettingValue value = setting_value(setting, ia_name);
    const std::string name = info_of(setting).name;
    return value.origin == SettingOrigin::kFile ? fmt::format("{} ({})", name, value.where) : name;
}

void warn_about_unknown_settings(SettingsOf part) {
    static std::atomic<bool> done{false};
    if (done.exchange(true)) return;
    for (const std::string_view name : unknown_variables())
        if (name.starts_with("DAT_") == (part == SettingsOf::kRegistry))
            report<kUnknownSetting>(name, nearest_setting(name));
}

}  // namespace support
