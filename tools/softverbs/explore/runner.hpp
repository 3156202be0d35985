// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Carries out runs, several at a time, until all are done or somebody interrupts.
#pragma once

#include "tools/softverbs/explore/single_run.hpp"

namespace softverbs::explore {

/// Called by one thread at a time, once the run is complete. It may drop what nobody needs.
using OnRun = std::function<void(Run&)>;

class Runner {
  public:
    /// Catches SIGINT and SIGTERM from here on. One object in a process.
    Runner(const Options& options, Tool tool);
    /// Leaves no process and no file behind.
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// @return the runs, in the order of the orders. @throw what the first one that failed has
    /// thrown.
    std::vector<Run> carry_out_all(const std::vector<Order>& orders, const OnRun& on_run = {});

    /// @return the signal that interrupted; 0 if there was none.
    static int interrupted();

  private:
    const Options& options_;
    Tool tool_;
    std::string directory_;
    unsigned runs_ = 0;
};

}  // namespace softverbs::explore
