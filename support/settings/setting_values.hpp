// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names and values of settings as text: which there are, and what is right for each kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/settings/settings.hpp"

namespace support {

std::optional<Setting> find_setting(std::string_view name);
/// For "did you mean".
std::string nearest_setting(std::string_view name);
/// @param names at least one.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& names);

/// Whether a file may give this value: a number in its range, a word that says yes or no, a text.
bool is_valid(const SettingInfo& info, const std::string& value);
/// Which is_valid() takes, as a noun.
std::string accepted_values(const SettingInfo& info);

/// The whole text must be one number, in any base that strtol knows.
bool parse_integer(const char* text, long& value);
bool is_in_range(const SettingInfo& info, const char* text, long& value);

}  // namespace support
