// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where lines go. Included by log.cpp alone, the one source file that has spdlog.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// As the settings say now.
struct LogDestinations {
    bool to_stderr, to_syslog;
    std::string file;  ///< empty for none
};
/// What is wrong with the settings is told once.
LogDestinations log_destinations();

/// Holds the log file while one line is written, against other threads, libraries and processes
/// that write the same one and may rename it. A line goes to the end of the file that is held,
/// whatever its name is by then: a file is never emptied, so no line is lost.
class LogFile {
  public:
    explicit LogFile(std::string name);
    ~LogFile();
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    /// @return 0, or why the file cannot be written, an errno.
    int error() const { return error_; }
    std::size_t size() const;
    void append(std::string_view line);
    /// The file gets the first of these names, the file of that name the next, and the last one is
    /// removed; a new file is held then.
    void rename_to(const std::vector<std::string>& names);

  private:
    void hold();

    std::string name_;
    int descriptor_ = -1;
    int error_ = 0;
};

}  // namespace support
