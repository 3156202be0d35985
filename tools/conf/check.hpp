// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The contents of a configuration file of either kind, and what is wrong with it.
#pragma once

#include <string>
#include <vector>

#include "dat/registry/dat_conf.hpp"
#include "support/settings/configuration.hpp"

namespace conf {

struct Problem {
    int line = 0, column = 0;  ///< 0: the whole file
    std::string text;
    std::string hint;      ///< what to do
    bool left_out = true;  ///< the entry counts as absent
};

struct File {
    std::string path;
    bool is_yaml = false;
    std::string text;
    std::vector<dat::ConfRecord> records;  ///< the valid ones
    std::vector<Problem> problems;         ///< all, in file order
    support::ConfigurationText yaml;       ///< for a YAML file
};

/// @return whether the name ends in .yaml or .yml.
bool is_yaml(const std::string& path);
/// @param text its content.
File read_text(const std::string& path, std::string text);
/// The same for a file to be read; one that cannot be read has one problem.
File read_file(const std::string& path);

}  // namespace conf
