// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the programs that measure connections share: two processes that signal their progress to
/// each other, and a clock.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

/// tell() sends one byte through a pipe, for which hear() waits. Both end the program when the
/// other process has ended.
inline void tell(int pipe) {
    const char byte = 0;
    if (write(pipe, &byte, 1) != 1) std::exit(1);
}
inline void hear(int pipe) {
    char byte;
    if (read(pipe, &byte, 1) == 1) return;
    std::fprintf(stderr, "%s: the other process is gone\n", program_invocation_short_name);
    std::exit(1);
}

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin_ = Clock::now();
};

inline void print_rate(const char* what, int count, const Stopwatch& watch) {
    std::printf("%s_per_second %.1f\n", what, count / watch.seconds());
}

/// Runs `client(in, out)` in this process and `server(in, out)` in a child, which is killed when
/// this process dies. Each hears through `in` what the other one tells through `out`.
/// @return the exit status for main().
template <class Client, class Server>
int run_both(const Client& client, const Server& server) {
    constexpr int kServerIsStuck = 900;  // seconds
    int to_server[2];
    int to_client[2];
    if (pipe(to_server) != 0 || pipe(to_client) != 0) return 1;
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(kServerIsStuck);
        server(to_server[0], to_client[1]);
        std::exit(0);
    }
    close(to_client[1]);  // otherwise hear() would not notice the end of the server
    client(to_client[0], to_server[1]);
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
