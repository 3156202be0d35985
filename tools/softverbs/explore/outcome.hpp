// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Says how a run ended, as its report names it.
#pragma once

#include <string>
#include <vector>

namespace softverbs::explore {

enum class Kind { kPassed, kCrash, kHang, kStatus, kOutput };

/// Describes what a run did that it does not do without faults. Two runs with equal outcomes may
/// have failed for the same reason.
struct Outcome {
    Kind kind = Kind::kPassed;
    int value = 0;  ///< of kCrash the signal, of kStatus the status
    friend bool operator==(const Outcome&, const Outcome&) = default;
    bool is_failure() const { return kind != Kind::kPassed; }
};

/// @return "crash", "hang", "status" or "output": the name in JSON and JUnit.
const char* name_of(Kind kind);
/// @return "crashed with SIGSEGV"
std::string to_text(const Outcome& outcome);

/// Holds what is compared.
struct Ending {
    bool timed_out = false;
    int wait_status = 0;      ///< as waitpid() gives it, unless it timed out
    std::string output;       ///< normalized
    bool was_killed = false;  ///< a rule has killed a process
};

/// @param accepted statuses that are right beside that of the reference.
/// @param compares whether the outputs are compared.
Outcome judge(const Ending& ending, const Ending& reference, const std::vector<int>& accepted,
              bool compares);

}  // namespace softverbs::explore
