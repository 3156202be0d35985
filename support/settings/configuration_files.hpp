// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The configuration files of this process: which exist, and their contents. Each library reads
/// them once, when the first setting is read. Control path only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/settings/configuration.hpp"

namespace support {

struct ConfigurationFile {
    enum class Origin { kNamed, kUser, kSystem };  ///< by OPENDAT_CONFIG; strongest first
    Origin origin;
    std::string path;
    std::string not_read;  ///< why, when the file exists and is not obeyed
    ConfigurationText text;
};

struct Configuration {
    std::vector<ConfigurationFile> files;  ///< those that exist, the strongest first
};

/// Looks for the files and reads them; reads no setting and reports nothing. Where there are none
/// it costs two or three system calls.
Configuration read_configuration_files();

/// Keeps the configuration alive while it is read; it may be gone when the library is being
/// unloaded. Takes no lock, since the process may fork at any time.
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

/// Reports, once per process and library, what is wrong with the files. Reports nothing in a thread
/// whose ThreadErrors say that the caller, a library of ours, has done so.
void report_configuration_once();

/// Reports the first ten problems, and how many more there are.
void report_problems(const std::string& path, std::span<const ConfigurationProblem> problems);

/// Makes the next read of a setting read the files again. No other thread may be reading one.
void forget_configuration();

}  // namespace support
