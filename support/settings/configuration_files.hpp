// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The configuration files of this process: which there are, read once in each library when the
/// first setting is asked for. Control path only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/settings/configuration.hpp"

namespace support {

struct ConfigurationFile {
    enum class Origin { kNamed, kUser, kSystem };  ///< by OPENDAT_CONFIG; in order of force
    Origin origin;
    std::string path;
    std::string not_read;  ///< why, where the file is there and is not obeyed
    ConfigurationText text;
};

struct Configuration {
    std::vector<ConfigurationFile> files;  ///< those that are there, the strongest first
};

/// Looks for the files and reads them: asks no setting, tells nothing. Where there are none it
/// costs two or three system calls.
Configuration read_configuration_files();

/// The configuration while it is looked at; it may be gone when the library is being unloaded. No
/// lock is taken, since the process may fork at any time.
class ConfigurationInUse {
  public:
    ConfigurationInUse();
    ~ConfigurationInUse();
    ConfigurationInUse(const ConfigurationInUse&) = delete;
    ConfigurationInUse& operator=(const ConfigurationInUse&) = delete;
    std::span<const ConfigurationFile> files() const {
        if (!configuration_) return {};
        return configuration_->files;
    }

  private:
    const Configuration* configuration_;
};

/// Tells the user, once per process and library, what is wrong with the files; not at all in a
/// thread whose ThreadErrors say that the caller, a library of ours, has done so.
void report_configuration_once();

/// Tells the user of the first ten, and how many more there are.
void report_problems(const std::string& path, std::span<const ConfigurationProblem> problems);

/// The next setting is read from the files as they are then. No other thread may be asking for one.
void forget_configuration();

}  // namespace support
