// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The process's environment, as far as it is about settings. Nothing else reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/settings/settings.hpp"

namespace support {

/// @return the variable's value where it is set and obeyed in this process, else nullptr.
const char* environment_value(Setting setting);
/// Whether it is obeyed or not. @return nullptr when it is not set.
const char* variable_in_environment(const char* name);
/// Those with our prefixes (OPENDAT_, SOFTVERBS_) that are in no row of the table, and those with
/// the reference's (DAPL_, DAT_), which other programs use too, whose name is nearly a setting's.
std::vector<std::string_view> unknown_variables();

/// $XDG_CONFIG_HOME, else $HOME/.config; "" where neither is an absolute path, and in set-uid
/// programs.
std::string user_configuration_directory();

}  // namespace support
