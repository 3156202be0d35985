// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// All runs of `softverbs explore`: without faults, under each seed, and those that find out which
/// faults a failure needs.
#pragma once

#include <stdexcept>

#include "tools/common/terminal.hpp"
#include "tools/softverbs/explore/finding.hpp"
#include "tools/softverbs/explore/runner.hpp"

namespace softverbs::explore {

/// The command cannot be explored.
class BadReference : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Campaign {
  public:
    Campaign(const Options& options, Runner& runner) : options_(options), runner_(runner) {}

    /// @throw BadReference when the command fails without faults, or prints something else each
    /// time.
    Findings carry_out();

  private:
    void run_reference();
    void run_seeds();
    void sort_failures();
    void shrink_first();
    void find_stacks(Finding& kind);
    void join_others();
    void try_others(const std::vector<std::size_t>& alike, Finding& kind);
    std::optional<std::size_t> first_alike(const std::vector<Rules>& all, const Outcome& outcome);
    std::vector<Run> run_with(const std::vector<Rules>& all);
    Outcome judge_run(const Run& run) const;
    std::string command_for(const Finding& kind) const;

    const Options& options_;
    Runner& runner_;
    tools::Progress progress_;
    Findings findings_;
    std::vector<Run> failures_;  ///< that belong to no kind yet, in the order of their seeds
};

}  // namespace softverbs::explore
