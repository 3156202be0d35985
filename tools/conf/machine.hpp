// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds records that are valid but do not work on this machine.
#pragma once

#include <map>
#include <string>

#include "tools/conf/check.hpp"

namespace conf {

/// Names of the records of several files, with the place of the first record of each name.
using Places = std::map<std::string, std::string>;

/// Adds the problems of the file's records: no program can open them, the name exists already, the
/// loader does not find the library, the device does not exist.
/// @param root prefix of /sys, for tests
/// @param places those of the files before this one; those of this file are added
void check_machine(File& file, const std::string& root, Places& places);

}  // namespace conf
