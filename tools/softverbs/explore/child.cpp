// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/child.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>

#include "tools/softverbs/explore/files.hpp"

namespace softverbs::explore {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environment_of(const Child& child) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text = *entry;
        const bool is_removed =
            std::any_of(child.removed.begin(), child.removed.end(),
                        [&](const std::string& name) { return text.starts_with(name); }) ||
            std::any_of(child.environment.begin(), child.environment.end(),
                        [&](const auto& added) { return text.starts_with(added.first + '='); });
        if (!is_removed) all.emplace_back(text);
    }
    for (const auto& [name, value] : child.environment) all.push_back(name + '=' + value);
    return all;
}

/// Files and attributes of posix_spawn().
class Spawning {
  public:
    explicit Spawning(const Child& child) {
        posix_spawn_file_actions_init(&files_);
        posix_spawnattr_init(&attributes_);
        constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
        posix_spawn_file_actions_addopen(&files_, 0, child.in.c_str(), O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files_, 1, child.out.c_str(), kWrite, 0600);
        posix_spawn_file_actions_addopen(&files_, 2, child.err.c_str(), kWrite, 0600);
        sigset_t none, ours;
        sigemptyset(&none);
        sigemptyset(&ours);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&ours, signal);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &ours);
        posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Spawning() {
        posix_spawn_file_actions_destroy(&files_);
        posix_spawnattr_destroy(&attributes_);
    }
    Spawning(const Spawning&) = delete;
    Spawning& operator=(const Spawning&) = delete;

    int start(pid_t& pid, char** words, char** environment) const {
        return posix_spawnp(&pid, words[0], &files_, &attributes_, words, environment);
    }

  private:
    posix_spawn_file_actions_t files_;
    posix_spawnattr_t attributes_;
};

/// Reads /proc/PID/stat, proc(5). @return whether it is there.
bool read_process(pid_t pid, Process& process) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto begin = text.find('('), end = text.rfind(')');
    if (begin == text.npos || end == text.npos) return false;
    process.pid = pid;
    process.name = text.substr(begin + 1, end - begin - 1);
    int group = 0;
    return std::sscanf(text.c_str() + end + 1, " %c %d %d %d", &process.state, &process.parent,
                       &group, &process.session) == 4;
}

std::vector<Process> all_processes() {
    std::vector<Process> all;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        const char* const end = entry->d_name + std::strlen(entry->d_name);
        pid_t pid = 0;
        const auto [rest, error] = std::from_chars(entry->d_name, end, pid);
        Process process;
        if (error == std::errc() && rest == end && read_process(pid, process))
            all.push_back(std::move(process));
    }
    return all;
}

/// @return whether a variable of the process's environment begins with this text, whose end may be
/// a zero byte.
bool has_mark(pid_t pid, const std::string& mark) {
    const std::string text = '\0' + read_file("/proc/" + std::to_string(pid) + "/environ");
    return text.find('\0' + mark) != text.npos;
}

/// Moves the children of `members` from `others` to them, and theirs.
void add_descendants(std::vector<Process>& members, std::vector<Process>& others) {
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto theirs = std::stable_partition(
            others.begin(), others.end(),
            [&](const Process& other) { return other.parent != members[i].pid; });
        std::vector<Process> children(std::make_move_iterator(theirs),
                                      std::make_move_iterator(others.end()));
        others.erase(theirs, others.end());
        members.insert(members.end(), std::make_move_iterator(children.begin()),
                       std::make_move_iterator(children.end()));
    }
}

/// @return all, also those that have ended and not been waited for.
std::vector<Process> members_of(pid_t first, const std::string& mark) {
    std::vector<Process> others = all_processes(), members;
    const pid_t self = getpid();
    for (std::size_t i = others.size(); i-- > 0;) {
        const Process& one = others[i];
        const bool is_ours = one.pid != self && (one.pid == first || one.session == first ||
                                                 has_mark(one.pid, mark + '\0'));
        if (!is_ours) continue;
        members.push_back(one);
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    }
    add_descendants(members, others);
    return members;
}

bool is_dead(const Process& process) {
    return process.state == 'Z' || process.state == 'X';
}

/// Kills what `find` finds, until it finds nothing alive. Waits for our own children among them,
/// but for `kept`.
template <class Find>
void end_found(const Find& find, pid_t kept) {
    // A process that the kernel does not end, because a driver holds it, does not hold us.
    const auto end = Clock::now() + std::chrono::seconds(10);
    for (bool is_clear = false; !is_clear && Clock::now() < end;) {
        is_clear = true;
        for (const Process& process : find()) {
            if (process.parent == getpid() && process.pid != kept)
                waitpid(process.pid, nullptr, WNOHANG);
            if (is_dead(process)) continue;
            is_clear = false;
            kill(process.pid, SIGKILL);
        }
        if (!is_clear) poll(nullptr, 0, 2);
    }
}

/// The guard's life: its end of the pipe shows when the other one is closed, which only the end of
/// its parent does.
[[noreturn]] void guard(const std::string& directory, int pipe) {
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; ++standard) dup2(nothing, standard);
    char byte;
    while (read(pipe, &byte, 1) < 0 && errno == EINTR) {
    }
    const std::string mark = fabric_mark(directory + '/');
    end_found(
        [&] {
            std::vector<Process> all = all_processes();
            std::erase_if(all, [&](const Process& one) { return !has_mark(one.pid, mark); });
            return all;
        },
        0);
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    _exit(0);
}

}  // namespace

std::string fabric_mark(const std::string& path) {
    return "SOFTVERBS_FABRIC=" + path;
}

void start_guard(const std::string& directory) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    const pid_t pid = fork();
    if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid == 0) {
        close(ends[1]);
        guard(directory, ends[0]);
    }
    close(ends[0]);  // the other end stays open until we end
}

pid_t spawn(const Child& child) {
    std::vector<std::string> words = child.words, environment = environment_of(child);
    pid_t pid = 0;
    const int error =
        Spawning(child).start(pid, pointers(words).data(), pointers(environment).data());
    if (error != 0) throw std::system_error(error, std::generic_category(), words[0]);
    return pid;
}

Wait await(pid_t pid, double seconds, int stop, int& status) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    constexpr int kLongestPause = 10;
    for (int pause = 1;; pause = std::min(pause + 1, kLongestPause)) {
        if (waitpid(pid, &status, WNOHANG) == pid) return Wait::kEnded;
        if (Clock::now() >= end) return Wait::kTimedOut;
        pollfd wanted = {stop, POLLIN, 0};
        if (poll(&wanted, 1, pause) == 1) return Wait::kStopped;
    }
}

bool run_helper(const Child& child, double seconds, int stop) {
    const pid_t pid = spawn(child);
    int status = 0;
    if (await(pid, seconds, stop, status) == Wait::kEnded) return status == 0;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    return false;
}

std::vector<Process> processes_of(pid_t first, const std::string& mark) {
    std::vector<Process> members = members_of(first, mark);
    std::erase_if(members, is_dead);
    std::sort(members.begin(), members.end(),
              [](const Process& a, const Process& b) { return a.pid < b.pid; });
    return members;
}

void end_all(pid_t first, const std::string& mark) {
    end_found([&] { return members_of(first, mark); }, first);
}

void end_descendants() {
    end_found(
        [] {
            std::vector<Process> others = all_processes(), members(1);
            members[0].pid = getpid();
            std::erase_if(others, [](const Process& other) { return other.pid == getpid(); });
            add_descendants(members, others);
            members.erase(members.begin());
            return members;
        },
        0);
}

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace softverbs::explore
