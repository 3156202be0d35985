// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/process_identity.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "support/base/unique_fd.hpp"

namespace dapl::memory {
namespace {

struct Stat {
    char state;
    long threads;
    std::uint64_t start;
};

/// Reads /proc/PID/stat, in which the name in parentheses may contain anything.
std::optional<Stat> stat_of(pid_t pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const support::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return std::nullopt;
    char text[1024];
    const ssize_t size = read(file.get(), text, sizeof text - 1);
    if (size <= 0) return std::nullopt;
    text[size] = '\0';
    const char* rest = std::strrchr(text, ')');
    Stat stat{};
    unsigned long long start = 0;
    // Fields 3, 20 and 22 of proc(5).
    if (!rest || sscanf(rest + 1,
                        " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld "
                        "%*d %llu",
                        &stat.state, &stat.threads, &start) != 3)
        return std::nullopt;
    stat.start = start;
    return stat;
}

/// The state is not enough: a main thread that has ended shows it too, while other threads run on.
bool has_ended(const Stat& stat) {
    return (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
}

}  // namespace

ProcessIdentity this_process() {
    const auto stat = stat_of(getpid());
    return {getpid(), stat ? stat->start : 0};
}

bool is_alive(const ProcessIdentity& process) {
    if (process.pid <= 0) return false;
    if (const auto stat = stat_of(process.pid))
        return !has_ended(*stat) && (process.start == 0 || stat->start == process.start);
    // Without /proc, or without a free descriptor, kill() still reports a pid that does not exist.
    return kill(process.pid, 0) == 0 || errno != ESRCH;
}

std::uint64_t pid_namespace() {
    struct stat status = {};
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace dapl::memory
