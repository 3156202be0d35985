// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/outcome.hpp"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace softverbs::explore {
namespace {

/// Shells and MPI launchers add this to the signal that ended their child.
constexpr int kSignalled = 128;

constexpr int kCrashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};

/// @return the signal that ended the process, or a child that it reports about; 0 if none has.
int signal_of(int wait_status) {
    if (WIFSIGNALED(wait_status)) return WTERMSIG(wait_status);
    const int signal = WEXITSTATUS(wait_status) - kSignalled;
    const bool is_known = signal == SIGKILL || std::find(std::begin(kCrashes), std::end(kCrashes),
                                                         signal) != std::end(kCrashes);
    return is_known ? signal : 0;
}

}  // namespace

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::kPassed:
            return "passed";
        case Kind::kCrash:
            return "crash";
        case Kind::kHang:
            return "hang";
        case Kind::kStatus:
            return "status";
        case Kind::kOutput:
            return "output";
    }
    return "";
}

std::string to_text(const Outcome& outcome) {
    switch (outcome.kind) {
        case Kind::kPassed:
            return "passed";
        case Kind::kCrash: {
            const char* const name = sigabbrev_np(outcome.value);
            return name ? fmt::format("crashed with SIG{}", name)
                        : fmt::format("crashed with signal {}", outcome.value);
        }
        case Kind::kHang:
            return "hung";
        case Kind::kStatus:
            return fmt::format("ended with status {}", outcome.value);
        case Kind::kOutput:
            return "printed something else than without faults";
    }
    return "";
}

Outcome judge(const Ending& ending, const Ending& reference, const std::vector<int>& accepted,
              bool compares) {
    if (ending.timed_out) return {Kind::kHang, 0};
    const int signal = signal_of(ending.wait_status);
    if (signal == SIGKILL && ending.was_killed) return {};
    if (signal != 0) return {Kind::kCrash, signal};
    const int status = WEXITSTATUS(ending.wait_status);
    if (std::find(accepted.begin(), accepted.end(), status) != accepted.end()) return {};
    if (ending.wait_status != reference.wait_status) return {Kind::kStatus, status};
    if (compares && ending.output != reference.output) return {Kind::kOutput, 0};
    return {};
}

}  // namespace softverbs::explore
