// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// All settings with their values in force, and what was set but is not used.
#pragma once

#include <string>
#include <vector>

#include "support/settings/setting_sources.hpp"
#include "tools/common/json.hpp"

namespace info {

struct ShownSetting {
    support::SettingInfo info;
    support::SettingValue value;
};

struct Settings {
    std::string ia_name;  ///< the IA whose values they are; "" for those of all
    std::vector<ShownSetting> all;
    std::vector<support::UnusedSetting> unused;
};

Settings show_settings(const std::string& ia_name);

std::string to_text(const Settings& settings);
tools::Json to_json(const Settings& settings);

}  // namespace info
