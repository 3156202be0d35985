// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/trial.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tools/common/clock.hpp"
#include "tools/common/failure.hpp"
#include "tools/common/terminal.hpp"
#include "tools/doctor/transfer.hpp"

namespace doctor {
namespace {

constexpr std::size_t kMostTold = 4096;
/// Marks the line in which the child itself reports why it failed.
constexpr char kOwnLine = '\1';
/// Extra time for a process to report why it failed, after its own timeout.
constexpr double kGraceSeconds = 10;

/// A child process that runs one side; what it and its libraries write to stderr is kept.
class Trial {
  public:
    template <class Body>
    explicit Trial(const Body& body) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw tools::Failure("pipe", std::strerror(errno), "two descriptors",
                                 "raise ulimit -n");
        std::fflush(nullptr);
        child_ = fork();
        if (child_ == 0) run(ends[1], body);
        close(ends[1]);
        told_end_ = ends[0];
        if (child_ < 0)
            throw tools::Failure("fork", std::strerror(errno), "a process", "raise ulimit -u");
    }
    ~Trial() {
        if (told_end_ >= 0) close(told_end_);
        if (child_ <= 0) return;
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    /// @return how it failed, "" for success.
    std::string await(const tools::Deadline& deadline) {
        if (!read_told(deadline)) return "it hangs: it has not ended within its time";
        int status = 0;
        waitpid(child_, &status, 0);
        child_ = 0;
        if (WIFSIGNALED(status)) return fmt::format("it was killed by signal {}", WTERMSIG(status));
        return WEXITSTATUS(status) == 0 ? "" : "it failed";
    }
    const std::string& told() const { return told_; }
    pid_t pid() const { return child_; }
    /// @return its exit status, -1 if it did not exit by itself.
    int exit_status(const tools::Deadline& deadline) {
        if (!read_told(deadline)) return -1;
        int status = 0;
        waitpid(child_, &status, 0);
        child_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    template <class Body>
    [[noreturn]] static void run(int told, const Body& body) {
        dup2(told, STDERR_FILENO);
        int status = 1;
        try {
            body();
            status = 0;
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "%c%s\n", kOwnLine, failure.what());
        }
        std::fflush(stderr);
        _exit(status);
    }
    /// @return whether the child has closed its end in time.
    bool read_told(const tools::Deadline& deadline) {
        for (;;) {
            pollfd entry{told_end_, POLLIN, 0};
            const int ready = poll(&entry, 1, static_cast<int>(deadline.left_us(1e6) / 1e3) + 1);
            char bytes[512];
            const ssize_t count = ready > 0 ? read(told_end_, bytes, sizeof bytes) : -1;
            if (count == 0) return true;
            if (count > 0 && told_.size() < kMostTold)
                told_.append(bytes, static_cast<std::size_t>(count));
            if (count < 0 && deadline.passed()) return false;
        }
    }

    pid_t child_ = -1;
    int told_end_ = -1;
    std::string told_;
};

/// @return the process's own report, and the ids of its libraries' messages. Other lines are left
/// out: they come from other code and say nothing to the reader of a finding.
std::string evidence_in(const std::string& told) {
    std::string own, messages;
    std::istringstream lines(told);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(kOwnLine)) {
            own = tools::printable(line.substr(1));
            continue;
        }
        const std::size_t open = line.rfind("[DAT"), close = line.rfind(']');
        if (open == std::string::npos || close == std::string::npos || close < open) continue;
        const std::string id = tools::printable(line.substr(open + 1, close - open - 1));
        if (messages.find(id) == std::string::npos) messages += (messages.empty() ? "" : ", ") + id;
    }
    if (messages.empty()) return own;
    return fmt::format("{}{}the libraries report {}", own, own.empty() ? "" : "; ", messages);
}

bool has_message(const std::string& told) {
    return told.find("[DAT") != std::string::npos && (told.find("warning: ") != std::string::npos ||
                                                      told.find("error: ") != std::string::npos);
}

void judge(const char* side, const std::string& ended, const std::string& told,
           Findings& findings) {
    const std::string evidence = evidence_in(told);
    if (!ended.empty())
        return findings.add(
            kTransferFails,
            fmt::format("{}: {}{}{}", side, ended, evidence.empty() ? "" : ": ", evidence),
            "dat_info --explain IA; dat_strerror explains codes and messages");
    if (has_message(told))
        findings.add(kTransferTells, fmt::format("{}: {}", side, evidence),
                     "dat_strerror explains each message by its id");
}

tools::Socket end_of_pair(int ends[2], int which) {
    close(ends[1 - which]);
    return tools::Socket(ends[which]);
}

}  // namespace

void try_alone(const std::string& ia_name, double seconds, Findings& findings) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        throw tools::Failure("socketpair", std::strerror(errno), "two sockets", "raise ulimit -n");
    Trial passive([&] {
        Link link(end_of_pair(ends, 0), seconds);
        serve_transfer(ia_name, link, seconds);
    });
    Trial active([&] {
        Link link(end_of_pair(ends, 1), seconds);
        make_transfer(ia_name, link, seconds);
    });
    close(ends[0]);
    close(ends[1]);
    const tools::Deadline deadline(seconds + kGraceSeconds);
    const std::string active_end = active.await(deadline);
    const std::string passive_end = passive.await(deadline);
    judge("the active side", active_end, active.told(), findings);
    judge("the passive side", passive_end, passive.told(), findings);
}

void try_with_peer(const std::string& ia_name, Role role, Link link, double seconds,
                   Findings& findings) {
    Trial trial([&] {
        if (role == Role::kPassive)
            serve_transfer(ia_name, link, seconds);
        else
            make_transfer(ia_name, link, seconds);
    });
    const std::string ended = trial.await(tools::Deadline(seconds + kGraceSeconds));
    judge("this side", ended, trial.told(), findings);
}

int copy_between_processes() {
    static volatile int word = 4711;
    const Trial owner([] { pause(); });
    Trial reader([pid = owner.pid()] {
        int copy = 0;
        const iovec here{&copy, sizeof copy};
        const iovec there{const_cast<int*>(&word), sizeof word};
        if (process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof copy) _exit(errno);
    });
    return reader.exit_status(tools::Deadline(kGraceSeconds));
}

}  // namespace doctor
