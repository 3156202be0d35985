// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where lines go. Included by log.cpp alone, the one source file that has spdlog.
#pragma once

#include <string>

namespace support {

/// As the settings say now.
struct LogDestinations {
    bool to_stderr, to_syslog;
    std::string file;  ///< empty for none
};
/// What is wrong with the settings is told once.
LogDestinations log_destinations();

/// Holds the log file while one line is written, against other threads, libraries and processes
/// that write the same one and may rename it.
class LogFileLock {
  public:
    explicit LogFileLock(const std::string& file);
    ~LogFileLock();
    LogFileLock(const LogFileLock&) = delete;
    LogFileLock& operator=(const LogFileLock&) = delete;
    /// @return 0, or why the file cannot be written, an errno.
    int error() const { return error_; }

  private:
    int descriptor_ = -1;
    int error_ = 0;
};

}  // namespace support
