// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Recognises the paths that belong to the devices' part of /sys.
#pragma once

#include <optional>
#include <string_view>

#include "providers/soft/softverbs/sysfs/sight.hpp"

namespace softverbs {

/// @param path absolute, or relative to the root directory.
/// @return what follows "/sys/" in a path of /sys/class/infiniband itself, of one of our devices
/// there, or of /sys/devices/softverbs. The real devices' own paths, and all others, are nullopt.
/// Allocates nothing.
std::optional<std::string_view> below_sys(std::string_view path, const Sight& sight);

/// Turns a path in a tree (tree.hpp) into the one in /sys that it stands for, in place; others stay
/// as they are. @param path nullptr, or terminated by zero. @return it.
char* to_sys(char* path);

}  // namespace softverbs
