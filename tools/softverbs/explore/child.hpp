// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Child processes, and all that they start.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace softverbs::explore {

struct Child {
    std::vector<std::string> words;                                ///< program and arguments
    std::vector<std::pair<std::string, std::string>> environment;  ///< added to our own
    std::vector<std::string> removed;  ///< beginnings of names that are removed from our own
    std::string in = "/dev/null", out = "/dev/null", err = "/dev/null";  ///< files
};

/// Starts it in a session of its own. Thread safe. @throw std::system_error
pid_t spawn(const Child& child);

enum class Wait { kEnded, kTimedOut, kStopped };

/// Waits for a child of ours.
/// @param stop a descriptor that becomes readable when waiting must end; -1 for none.
/// @param status receives the status of waitpid(); set with kEnded.
Wait await(pid_t pid, double seconds, int stop, int& status);

/// Runs a helper to its end, or kills it after so many seconds. @return whether it succeeded.
bool run_helper(const Child& child, double seconds, int stop);

struct Process {
    pid_t pid = 0, parent = 0, session = 0;
    char state = '?';
    std::string name;
};

/// @return what the environment of the processes of a run has: the variable of their fabric.
std::string fabric_mark(const std::string& path);

/// @return the living processes of a run: the descendants of its first process, its session, and
/// those in whose environment `mark`, a `NAME=VALUE`, stands.
std::vector<Process> processes_of(pid_t first, const std::string& mark);

/// Kills them all, however many more they start. The first process remains to be waited for.
void end_all(pid_t first, const std::string& mark);

/// Kills all descendants of this process. No other thread may wait for any of them.
void end_descendants();

/// Starts a process that waits until this one has ended, also by SIGKILL. It then kills the
/// processes of all runs, whose fabrics are in `directory`, and removes the directory. It is a
/// descendant of ours, so end_descendants() ends it. Call it while there is one thread.
/// @throw std::system_error
void start_guard(const std::string& directory);

/// Makes this process the parent of orphans among its descendants, so that end_all() finds them.
void adopt_orphans();

}  // namespace softverbs::explore
