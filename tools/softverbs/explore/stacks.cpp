// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/stacks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "tools/softverbs/explore/files.hpp"

namespace softverbs::explore {
namespace {

namespace fs = std::filesystem;

/// A job has seldom more processes, and their stacks are alike.
constexpr std::size_t kMostProcesses = 16;
constexpr double kGdbSeconds = 60;

std::string first_line(const fs::path& path) {
    const std::string text = read_file(path);
    return text.substr(0, text.find('\n'));
}

/// Runs gdb. @return what it prints, "" if it cannot be started.
std::string gdb(const std::vector<std::string>& what, const std::string& command,
                const std::string& scratch, int stop) {
    Child child;
    child.words = {"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off"};
    child.words.insert(child.words.end(), what.begin(), what.end());
    child.words.insert(child.words.end(), {"-ex", command});
    child.out = scratch + "/gdb";
    try {
        run_helper(child, kGdbSeconds, stop);
    } catch (const std::exception&) {
        return {};
    }
    return read_file(child.out);
}

/// @return "" if gdb shows nothing.
std::string backtraces(const std::vector<std::string>& what, const std::string& scratch, int stop) {
    std::istringstream lines(gdb(what, "thread apply all backtrace", scratch, stop));
    std::string text, line;
    while (std::getline(lines, line))
        if (line.starts_with("Thread ") || line.starts_with("#")) text += line + '\n';
    return text.find("\n#") == text.npos ? std::string() : text;
}

/// @return the path of the program that has left the core file, which the kernel passed to it.
std::string program_of(const std::string& core, const std::string& scratch, int stop) {
    std::istringstream lines(gdb({"-core", core}, "info auxv", scratch, stop));
    std::string line;
    while (std::getline(lines, line)) {
        const auto begin = line.find('"'), end = line.rfind('"');
        if (line.find("AT_EXECFN") != line.npos && begin < end)
            return line.substr(begin + 1, end - begin - 1);
    }
    return {};
}

std::string by_kernel(pid_t pid) {
    std::string text;
    std::error_code failed;
    const fs::path tasks = fmt::format("/proc/{}/task", pid);
    for (const auto& task : fs::directory_iterator(tasks, failed)) {
        text += fmt::format("Thread {} ({}): waits in {}, system call {}\n",
                            task.path().filename().string(), first_line(task.path() / "comm"),
                            first_line(task.path() / "wchan"), first_line(task.path() / "syscall"));
        text += read_file(task.path() / "stack");
    }
    return text;
}

/// @return the function that a line of a backtrace names: `#1  0x0000 in NAME (ARGUMENTS)`.
std::string function_in(const std::string& line) {
    const auto end = line.find(" (");
    if (!line.starts_with("#") || end == line.npos) return {};
    return line.substr(line.rfind(' ', end - 1) + 1, end - line.rfind(' ', end - 1) - 1);
}

}  // namespace

std::string stacks_of(const std::vector<Process>& processes, const std::string& scratch, int stop) {
    std::string text;
    for (std::size_t i = 0; i < std::min(processes.size(), kMostProcesses); ++i) {
        const Process& process = processes[i];
        std::string stacks = backtraces({"-p", std::to_string(process.pid)}, scratch, stop);
        if (stacks.empty()) stacks = by_kernel(process.pid);
        text += fmt::format("process {} ({}), state {}\n{}", process.pid, process.name,
                            process.state, stacks);
    }
    return text;
}

std::string stacks_in_core(const std::string& core, const std::string& scratch, int stop) {
    const std::string program = program_of(core, scratch, stop);
    if (program.empty()) return {};
    const std::string stacks = backtraces({program, core}, scratch, stop);
    return stacks.empty() ? stacks : fmt::format("{} has crashed\n{}", program, stacks);
}

std::string functions_in(const std::string& stacks) {
    std::istringstream lines(stacks);
    std::string names, line;
    while (std::getline(lines, line)) {
        const std::string name = function_in(line);
        if (!name.empty()) names += name + '\n';
    }
    return names;
}

}  // namespace softverbs::explore
