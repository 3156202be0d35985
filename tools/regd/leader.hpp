// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_regd leads the tables of its own user: one thread for each, as long as others use it.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace regd_tool {

class Leaders {
  public:
    /// @param directory that of the tables. @param socket the daemon's, to which their use is
    /// reported.
    Leaders(std::string directory, std::string socket);
    ~Leaders();
    Leaders(const Leaders&) = delete;
    Leaders& operator=(const Leaders&) = delete;
    /// Joins new tables and leaves those that nobody else uses. Called periodically.
    void look();

  private:
    class Leader;
    const std::string directory_, socket_;
    std::vector<std::unique_ptr<Leader>> leaders_;
};

}  // namespace regd_tool
