// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One run of the command: in a directory of its own that holds its fabric, its temporary files,
/// its output and its log of faults.
#pragma once

#include <functional>
#include <string>

#include "tools/softverbs/explore/options.hpp"
#include "tools/softverbs/explore/outcome.hpp"
#include "tools/softverbs/explore/shrink.hpp"

namespace softverbs::explore {

/// softverbs(1) as a whole does this for us.
struct Tool {
    std::string program;  ///< the path of softverbs
    /// Describes the processes of a fabric and their queue pairs. Thread safe.
    std::function<std::string(const std::string& fabric)> describe;
};

struct Order {
    unsigned seed = 0;
    std::string rules;         ///< text; "": without faults
    bool inspects = false;     ///< stacks and queue pairs are wanted if it hangs
    bool keeps_cores = false;  ///< stacks are wanted if it crashes; such a run is alone
};

struct Run {
    unsigned seed = 0;
    bool is_complete = false;  ///< false: it was interrupted
    double seconds = 0;
    Ending ending;
    Rules log;  ///< the faults that were applied, as rules
    std::string output, errors, stacks, queue_pairs;
};

/// The words that run the command again.
std::vector<std::string> words_of(const Options& options, const std::string& program,
                                  const std::vector<std::string>& more);

/// @param directory where it makes a directory of its own, which is removed at the end.
/// @param stop as for await().
/// @throw std::exception when it cannot be started.
Run carry_out(const Options& options, const Tool& tool, const Order& order,
              const std::string& directory, int stop);

}  // namespace softverbs::explore
