// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/setting_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "support/base/edit_distance.hpp"

namespace support {
namespace {

/// As in YAML, and what the environment's settings accept as "no".
constexpr std::string_view kFlagWords[] = {"yes", "no", "true", "false", "on", "off", "1", "0"};

}  // namespace

std::optional<Setting> find_setting(std::string_view name) {
    const auto* found = std::find_if(std::begin(kSettings), std::end(kSettings),
                                     [name](const SettingInfo& info) { return name == info.name; });
    if (found == std::end(kSettings)) return std::nullopt;
    return static_cast<Setting>(found - std::begin(kSettings));
}

std::string nearest_name(std::string_view name, const std::vector<std::string_view>& names) {
    return std::string(*std::min_element(names.begin(), names.end(),
                                         [name](std::string_view a, std::string_view b) {
                                             return edit_distance(name, a) < edit_distance(name, b);
                                         }));
}

std::string nearest_setting(std::string_view name) {
    std::vector<std::string_view> names;
    for (const SettingInfo& info : kSettings) names.emplace_back(info.name);
    return nearest_name(name, names);
}

bool parse_integer(const char* text, long& value) {
    char* end = nullptr;
    errno = 0;
    value = strtol(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

bool is_in_range(const SettingInfo& info, const char* text, long& value) {
    return parse_integer(text, value) && value >= info.minimum && value <= info.maximum;
}

bool is_valid(const SettingInfo& info, const std::string& value) {
    long number = 0;
    if (value.find('\0') != std::string::npos) return false;
    switch (info.kind) {
        case SettingKind::kInteger:
            return is_in_range(info, value.c_str(), number);
        case SettingKind::kFlag:
            return std::find(std::begin(kFlagWords), std::end(kFlagWords), value) !=
                   std::end(kFlagWords);
        case SettingKind::kText:
        case SettingKind::kPath:
            break;
    }
    return !value.empty();
}

std::string accepted_values(const SettingInfo& info) {
    switch (info.kind) {
        case SettingKind::kInteger:
            return fmt::format("a number from {} to {}", info.minimum, info.maximum);
        case SettingKind::kFlag:
            return "yes or no";
        case SettingKind::kPath:
            return "the name of a file or directory";
        case SettingKind::kText:
            break;
    }
    return "a text";
}

}  // namespace support
