// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/support/environment.hpp"

#include <unistd.h>

#include <cstdlib>

#include "dapl/support/setting_values.hpp"

namespace support {

const char* environment_value(Setting setting) {
    const SettingInfo& info = kSettings[static_cast<int>(setting)];
    // secure_getenv knows AT_SECURE; names that are obeyed in set-uid programs go past it.
    return info.in_setuid == InSetuid::kObeyed ? getenv(info.name) : secure_getenv(info.name);
}

const char* variable_in_environment(const char* name) {
    return getenv(name);
}

std::vector<std::string_view> unknown_variables() {
    std::vector<std::string_view> unknown;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view assignment(*entry);
        const std::string_view name = assignment.substr(0, assignment.find('='));
        const bool ours = name.starts_with("OPENDAT_") || name.starts_with("SOFTVERBS_");
        if (ours && !find_setting(name)) unknown.push_back(name);
    }
    return unknown;
}

/// An empty variable counts as none, and a relative one is not obeyed, as the XDG base directory
/// specification has it.
std::string user_configuration_directory() {
    const char* configured = secure_getenv("XDG_CONFIG_HOME");
    if (configured && *configured == '/') return configured;
    const char* home = secure_getenv("HOME");
    return home && *home == '/' ? std::string(home) + "/.config" : std::string();
}

}  // namespace support
