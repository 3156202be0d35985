// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Converts records to text, for both kinds of file.
#pragma once

#include <string>

#include "dat/registry/dat_conf.hpp"

namespace conf {

/// @return a line of dat.conf without its line end.
std::string dat_conf_line(const dat::ConfRecord& record);
/// @return an entry of `ias`, lines with their ends; fields with the default value are left out.
/// @param indent prefix of each line.
std::string yaml_entry(const dat::ConfRecord& record, const std::string& indent);

}  // namespace conf
