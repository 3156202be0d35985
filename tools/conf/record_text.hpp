// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records as text, for both kinds of file.
#pragma once

#include <string>

#include "dat/registry/dat_conf.hpp"

namespace conf {

/// A line of dat.conf without its end.
std::string dat_conf_line(const dat::ConfRecord& record);
/// An entry of `ias`, lines with their ends; fields that say nothing new are left out.
/// @param indent in front of each line.
std::string yaml_entry(const dat::ConfRecord& record, const std::string& indent);

}  // namespace conf
