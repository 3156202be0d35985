// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds the records that are right by their form and do not work on this machine.
#pragma once

#include <map>
#include <string>

#include "tools/conf/check.hpp"

namespace conf {

/// Names of the records of several files, with the place of the first record of each.
using Places = std::map<std::string, std::string>;

/// Adds the problems of the file's records: that no program can open them, names that are there
/// already, libraries that the loader does not find, devices that are not there.
/// @param root in front of /sys, for tests
/// @param places of the files before this one; gets those of this file
void check_machine(File& file, const std::string& root, Places& places);

}  // namespace conf
