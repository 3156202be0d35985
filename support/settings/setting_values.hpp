// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names and values of settings as text: which names exist, and which values each kind accepts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/settings/settings.hpp"

namespace support {

std::optional<Setting> find_setting(std::string_view name);
/// @return the setting whose name is nearest, for "did you mean".
std::string nearest_setting(std::string_view name);
/// @param names at least one.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& names);

/// @return whether a file may set this value: a number in its range, a word for yes or no, a text.
bool is_valid(const SettingInfo& info, const std::string& value);
/// @return what is_valid() accepts, as a noun.
std::string accepted_values(const SettingInfo& info);

/// Parses the whole text as one number, in any base that strtol knows.
bool parse_integer(const char* text, long& value);
bool is_in_range(const SettingInfo& info, const char* text, long& value);

}  // namespace support
