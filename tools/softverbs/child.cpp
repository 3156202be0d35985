// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/softverbs/options.hpp"
#include "tools/softverbs/run.hpp"

namespace softverbs::tool {
namespace {

volatile sig_atomic_t child = 0;

void pass_on(int signal) {
    kill(static_cast<pid_t>(child), signal);
}

/// The terminal sends its signals to the program too, which decides what they mean.
void keep_waiting() {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    std::signal(SIGTERM, pass_on);
    std::signal(SIGHUP, pass_on);
}

int status_of(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) return kRunFailed;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_child(char** program) {
    child = fork();
    if (child == 0) _exit(replace_by(program));
    if (child < 0) {
        std::fprintf(stderr, "softverbs run: fork: %s\n", std::strerror(errno));
        return kRunFailed;
    }
    keep_waiting();
    return status_of(static_cast<pid_t>(child));
}

}  // namespace softverbs::tool
