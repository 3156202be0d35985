// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The core files that the processes of one run leave, where the kernel writes them into a
/// directory: to a pipe, or over a file that is there already, none is wanted.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace softverbs::explore {

class CoreFiles {
  public:
    /// Notes what is there before the run.
    CoreFiles();

    /// Lets this process, and all that it starts, write core files.
    void enable(pid_t first) const;

    /// @return those that have come. The caller removes them.
    std::vector<std::string> take() const;

  private:
    std::set<std::string> all() const;

    std::string folder_;     ///< "": none is wanted
    std::string begin_;      ///< of their names
    bool is_whole_ = false;  ///< whether that is all of the name, but for the process's number
    std::set<std::string> before_;
};

}  // namespace softverbs::explore
