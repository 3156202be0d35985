// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Chooses where lines go. Included only by log.cpp, the one source file that uses spdlog.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// The destinations that the settings name now.
struct LogDestinations {
    bool to_stderr, to_syslog;
    std::string file;  ///< empty for none
};
/// Reports errors in the settings once.
LogDestinations log_destinations();

/// The log file while one line is written. Other threads, libraries and processes write the same
/// file and may rename it: each line is one write to the end of the file that was opened, whatever
/// its name is by then, and a file is never emptied, so no line is lost. The file belongs to this
/// user alone. Nobody can make us wait: neither with a lock nor with a FIFO of that name.
class LogFile {
  public:
    explicit LogFile(std::string name);
    ~LogFile();
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    /// @return why the file is not written; empty when it is.
    const std::string& fault() const { return fault_; }
    std::size_t size() const;
    void append(std::string_view line) const;
    /// Renames the file to the first of these names, the file of that name to the next, and so on;
    /// the last one is removed. Then a new file is opened. Changes nothing while somebody else does
    /// the same.
    void rename_to(const std::vector<std::string>& names);

  private:
    void open_file();
    std::string fault_of_file() const;
    bool has_its_name() const;

    std::string name_;
    int descriptor_ = -1;
    std::string fault_;
};

}  // namespace support
