// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fixture with configuration files of its own, read by the YAML reader linked into the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/settings/configuration_files.hpp"
#include "support/settings/yaml_module.hpp"
#include "test/support/process.hpp"

namespace test {

/// Writes the user's file and one that OPENDAT_CONFIG names. Both are removed at the end, and the
/// variables of all settings unset.
class ConfigurationFiles : public testing::Test {
  protected:
    ConfigurationFiles() {
        setenv("XDG_CONFIG_HOME", directory_.c_str(), 1);
        std::filesystem::create_directory(directory_ + "/opendat");
        support::use_yaml_reader(opendat_yaml_read_1);
        support::forget_configuration();
    }
    ~ConfigurationFiles() override {
        unsetenv("OPENDAT_CONFIG");
        unsetenv("XDG_CONFIG_HOME");
        for (const support::SettingInfo& info : support::kSettings) unsetenv(info.name);
        support::use_yaml_reader(nullptr);
        support::forget_configuration();
    }

    std::string user_file() const { return directory_ + "/opendat/opendat.yaml"; }
    std::string named_file() const { return directory_ + "/named.yaml"; }

    void write(const std::string& path, const std::string& text) const {
        std::ofstream(path) << text;
        support::forget_configuration();
    }
    void write_user_file(const std::string& text) const { write(user_file(), text); }
    void write_named_file(const std::string& text) const {
        setenv("OPENDAT_CONFIG", named_file().c_str(), 1);
        write(named_file(), text);
    }

    const TemporaryDirectory place_;
    const std::string& directory_ = place_.path();
};

}  // namespace test
