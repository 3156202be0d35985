// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What is in a configuration file of either kind, and what is wrong with it.
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
    bool left_out = true;  ///< what stands there counts as not there
};

struct File {
    std::string path;
    bool is_yaml = false;
    std::string text;
    std::vector<dat::ConfRecord> records;  ///< the good ones
    std::vector<Problem> problems;         ///< all, by their places
    support::ConfigurationText yaml;       ///< of a YAML file
};

/// YAML is told by the name: .yaml or .yml.
bool is_yaml(const std::string& path);
/// @param text its content.
File read_text(const std::string& path, std::string text);
/// A file that cannot be read has one problem.
File read_file(const std::string& path);

}  // namespace conf
