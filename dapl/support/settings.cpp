// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/support/settings.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "dapl/support/edit_distance.hpp"
#include "dapl/support/log.hpp"

namespace support {
namespace {

const SettingInfo& info_of(Setting setting) {
    return kSettings[static_cast<int>(setting)];
}

/// secure_getenv knows AT_SECURE; names that are obeyed in set-uid programs go past it.
const char* value_of(const SettingInfo& info) {
    return info.in_setuid == InSetuid::kObeyed ? getenv(info.name) : secure_getenv(info.name);
}

/// The whole text must be one number.
bool parse_integer(const char* text, long& value) {
    char* end = nullptr;
    errno = 0;
    value = strtol(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

/// One report per setting and process is enough, however often it is read.
bool first_report(Setting setting) {
    static std::atomic<bool> told[std::size(kSettings)];
    return !told[static_cast<int>(setting)].exchange(true, std::memory_order_relaxed);
}

const char* nearest_name(std::string_view name) {
    return std::min_element(std::begin(kSettings), std::end(kSettings),
                            [name](const SettingInfo& a, const SettingInfo& b) {
                                return edit_distance(name, a.name) < edit_distance(name, b.name);
                            })
        ->name;
}

bool is_known(std::string_view name) {
    return std::any_of(std::begin(kSettings), std::end(kSettings),
                       [name](const SettingInfo& info) { return name == info.name; });
}

}  // namespace

bool setting_is_set(Setting setting) {
    return value_of(info_of(setting)) != nullptr;
}

std::string setting_text(Setting setting) {
    const char* value = value_of(info_of(setting));
    return value ? value : info_of(setting).default_value;
}

long setting_integer(Setting setting) {
    const SettingInfo& info = info_of(setting);
    long value = 0;
    long fallback = 0;
    parse_integer(info.default_value, fallback);
    const char* text = value_of(info);
    if (!text) return fallback;
    if (parse_integer(text, value) && value >= info.minimum && value <= info.maximum) return value;
    if (first_report(setting)) {
        report<kBadSettingValue>(info.name, text,
                                 fmt::format("a number from {} to {}", info.minimum, info.maximum),
                                 fallback);
    }
    return fallback;
}

bool setting_flag(Setting setting) {
    const std::string value = setting_text(setting);
    return !(value.empty() || value == "0" || value == "no" || value == "false" || value == "off");
}

void warn_about_unknown_settings() {
    static std::atomic<bool> done{false};
    if (done.exchange(true)) return;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view assignment(*entry);
        const std::string_view name = assignment.substr(0, assignment.find('='));
        const bool ours = name.starts_with("OPENDAT_") || name.starts_with("SOFTVERBS_");
        if (ours && !is_known(name)) report<kUnknownSetting>(name, nearest_name(name));
    }
}

}  // namespace support
