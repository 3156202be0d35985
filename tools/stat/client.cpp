// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/client.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "support/trace/status_socket.hpp"
#include "tools/common/clock.hpp"
#include "tools/common/failure.hpp"

namespace stat_tool {
namespace {

namespace status_socket = support::status_socket;
using support::PrivateDirectory;

/// Seconds that a process may take to answer.
constexpr double kPatience = 10;
constexpr double kPatienceWithOthers = 2;
constexpr std::size_t kMostOthers = 64;
/// Largest accepted answer in bytes, whatever length its head states.
constexpr std::size_t kLongestAnswer = std::size_t{64} << 20;

std::string name_of(pid_t pid) {
    return fmt::format("process {}", pid);
}

/// The facts that /proc reports about a process.
struct Facts {
    std::string program;
    uid_t user = 0;  ///< the effective one
    bool stopped = false;
};

std::optional<Facts> facts_of(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    std::optional<Facts> facts;
    for (std::string line; std::getline(file, line);) {
        if (!facts) facts.emplace();
        unsigned long real, effective;
        if (line.starts_with("Name:\t")) facts->program = line.substr(6);
        if (line.starts_with("State:\t")) facts->stopped = line[7] == 'T' || line[7] == 't';
        if (std::sscanf(line.c_str(), "Uid: %lu %lu", &real, &effective) == 2)
            facts->user = static_cast<uid_t>(effective);
    }
    return facts;
}

[[noreturn]] void tells_nothing(pid_t pid, const std::string& path) {
    throw tools::Failure(
        name_of(pid), "it reports no state",
        "a program that has an adapter instance open and was started with OPENDAT_STATUS=on",
        fmt::format("start it with that in its environment (dat_stat looks for its socket in {}; "
                    "OPENDAT_STATUS_DIRECTORY names another directory)",
                    path));
}

PrivateDirectory open_directory(pid_t pid, uid_t user) {
    const std::string path = status_socket::directory_path(user);
    auto directory = PrivateDirectory::open_existing(path, user);
    if (directory) return std::move(*directory);
    const PrivateDirectory::Fault& fault = directory.error();
    if (fault.refused)
        throw tools::Failure(path, fault.why,
                             fmt::format("a directory that only user {} may access", user),
                             "remove it, and restart the process");
    if (fault.error == ENOENT) tells_nothing(pid, path);
    throw tools::Failure(name_of(pid), fmt::format("{}: {}", path, fault.why),
                         "a process of the calling user",
                         fmt::format("run dat_stat as user {} or as root", user));
}

std::vector<std::string> sockets_of(const PrivateDirectory& directory, pid_t pid) {
    std::vector<std::string> found;
    for (const std::string& entry : directory.entries()) {
        const auto name = status_socket::parse_name(entry);
        if (name && name->process == pid) found.push_back(entry);
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// A query of one process.
class Conversation {
  public:
    Conversation(pid_t pid, double patience) : pid_(pid), deadline_(patience) {}
    /// @return nullopt when nobody listens any more.
    std::optional<std::string> ask(const PrivateDirectory& directory, const std::string& name);

  private:
    [[noreturn]] void fail(const std::string& found, const std::string& next_step) const {
        throw tools::Failure(name_of(pid_), found, "its state", next_step);
    }
    bool connect(const PrivateDirectory& directory, const std::string& name);
    void check_peer() const;
    void await() const;
    std::string read();

    const pid_t pid_;
    const tools::Deadline deadline_;
    support::UniqueFd socket_;
};

bool Conversation::connect(const PrivateDirectory& directory, const std::string& name) {
    for (;;) {
        auto connected = status_socket::connect(directory, name);
        if (connected) {
            socket_ = std::move(*connected);
            return true;
        }
        if (connected.error() == ECONNREFUSED || connected.error() == ENOENT) return false;
        if (connected.error() != EAGAIN)
            fail(strerror(connected.error()),
                 "run dat_stat as the user of that process, or as root");
        if (deadline_.passed()) fail("other clients query it all the time", "query it less often");
        const timespec pause{0, 10'000'000};
        nanosleep(&pause, nullptr);
    }
}

/// A later process can have the same number, and a socket can outlive its process.
void Conversation::check_peer() const {
    ucred other = {};
    socklen_t length = sizeof other;
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &other, &length) != 0)
        fail(strerror(errno), "try again");
    if (other.pid != pid_)
        fail(fmt::format("its socket is that of process {}", other.pid),
             "run dat_stat in the container of that process");
}

void Conversation::await() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    const auto left = static_cast<int>(deadline_.left_us(kPatience * 1e6) / 1e3) + 1;
    if (poll(&ready, 1, left) > 0) return;
    const auto facts = facts_of(pid_);
    if (facts && facts->stopped) fail("it is stopped", "continue it");
    fail(fmt::format("it has not answered for {} s", deadline_.seconds()),
         "check whether it gets any processor time, and its service thread with `gdb -p`");
}

std::string Conversation::read() {
    std::string answer;
    std::size_t wanted = std::string::npos;  // unknown until the head has been read
    for (;;) {
        char bytes[65536];
        const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, 0);
        if (got < 0 && errno == EAGAIN) {
            await();
            continue;
        }
        if (got <= 0) break;
        answer.append(bytes, static_cast<std::size_t>(got));
        const auto head = answer.find('\n');
        if (wanted == std::string::npos && head != std::string::npos) {
            std::size_t size = 0;
            const auto [end, error] = std::from_chars(answer.data(), answer.data() + head, size);
            if (error != std::errc() || end != answer.data() + head || size > kLongestAnswer)
                fail("its answer has an invalid length", "use the same release for both");
            wanted = head + 1 + size;
        }
        if (answer.size() >= wanted) return answer.substr(answer.find('\n') + 1);
        if (wanted == std::string::npos && answer.size() > status_socket::kLongestHead)
            fail("its answer has no head", "use the same release for both");
    }
    fail("it closed the connection before the end of its answer",
         "check whether it has ended, or whether many clients query it at the same time");
}

std::optional<std::string> Conversation::ask(const PrivateDirectory& directory,
                                             const std::string& name) {
    if (!connect(directory, name)) return std::nullopt;
    check_peer();
    const std::string_view request = status_socket::kStatus;
    // So short a line always fits into the socket buffer.
    if (send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
        fail("it closed the connection at once", "check whether it has ended");
    return read();
}

Library to_library(pid_t pid, const std::string& answer) {
    try {
        return parse_library(answer);
    } catch (const std::runtime_error& error) {
        throw tools::Failure(name_of(pid),
                             fmt::format("its answer cannot be read: {}", error.what()),
                             "the document of this release", "use the same release for both");
    }
}

Process ask_within(pid_t pid, double patience) {
    const auto facts = facts_of(pid);
    if (!facts)
        throw tools::Failure(name_of(pid), "No such process", "a process that is running",
                             "see `ps -e` for its number");
    const PrivateDirectory directory = open_directory(pid, facts->user);
    const auto sockets = sockets_of(directory, pid);
    Process process{pid, facts->program, facts->stopped, {}};
    bool any = false;
    for (const std::string& socket : sockets) {
        if (process.stopped) return process;
        if (const auto answer = Conversation(pid, patience).ask(directory, socket)) {
            process.libraries.push_back(to_library(pid, *answer));
            any = true;
        }
    }
    if (!any && !process.stopped) tells_nothing(pid, directory.path());
    return process;
}

}  // namespace

Process ask(pid_t pid) {
    if (const auto directory =
            PrivateDirectory::open_existing(status_socket::directory_path(geteuid()), geteuid()))
        status_socket::remove_stale(*directory);
    return ask_within(pid, kPatience);
}

std::vector<Process> ask_others(const std::vector<Process>& known) {
    std::vector<pid_t> pids;
    const auto directory =
        PrivateDirectory::open_existing(status_socket::directory_path(geteuid()), geteuid());
    if (!directory) return {};
    for (const std::string& entry : directory->entries())
        if (const auto name = status_socket::parse_name(entry)) pids.push_back(name->process);
    for (const Process& process : known) std::erase(pids, process.pid);
    std::sort(pids.begin(), pids.end());
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    if (pids.size() > kMostOthers) pids.resize(kMostOthers);
    std::vector<Process> found;
    for (const pid_t pid : pids) {
        try {
            found.push_back(ask_within(pid, kPatienceWithOthers));
        } catch (const tools::Failure&) {
            // Its ends of connections are then missing, which the findings report.
        }
    }
    return found;
}

}  // namespace stat_tool
