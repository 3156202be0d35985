// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The part of the process's environment that concerns settings. Nothing else reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/settings/settings.hpp"

namespace support {

/// @return the variable's value when it is set and obeyed in this process, else nullptr.
const char* environment_value(Setting setting);
/// @return the variable's value whether it is obeyed or not, nullptr when it is not set.
const char* variable_in_environment(const char* name);
/// @return the names with our prefixes (OPENDAT_, SOFTVERBS_) that are in no row of the table, and
/// those with the reference's (DAPL_, DAT_), which other programs use too, that are nearly a
/// setting's name.
std::vector<std::string_view> unknown_variables();

/// @return the rank that a launcher (mpirun, srun) has given this process in its job; "" outside
/// one.
std::string rank_in_job();

/// @return $XDG_CONFIG_HOME, else $HOME/.config; "" when neither is an absolute path, and in
/// set-uid programs.
std::string user_configuration_directory();

}  // namespace support
