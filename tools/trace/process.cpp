// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/process.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tools/common/failure.hpp"
#include "tools/trace/machine.hpp"

namespace tracing {
namespace {

std::string proc(pid_t pid, const char* file) {
    return fmt::format("/proc/{}/{}", pid, file);
}

/// @return Yama's setting, or 0 without Yama.
int ptrace_scope() {
    std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
    int scope = 0;
    file >> scope;
    return file ? scope : 0;
}

[[noreturn]] void refuse(const std::string& what, int error_number) {
    const std::string found = std::strerror(error_number);
    if (error_number == ESRCH || error_number == ENOENT)
        throw tools::Failure(what, found, "a process that is running",
                             "see `ps -e` for its number");
    const int scope = ptrace_scope();
    if (geteuid() != 0 && scope > 0)
        throw tools::Failure(
            what, fmt::format("{} (kernel.yama.ptrace_scope is {})", found, scope),
            "a process that ptrace may access",
            "run dat_trace as root, or allow it with `sysctl kernel.yama.ptrace_scope=0`");
    throw tools::Failure(what, found, "a process of the same user, which ptrace may access",
                         "run dat_trace as the user of that process, or as root; in a container "
                         "with the capability CAP_SYS_PTRACE");
}

}  // namespace

Process::Process(pid_t pid) : pid_(pid) {
    source = fmt::format("process {}", pid);
    this->pid = static_cast<std::uint32_t>(pid);
    running = true;
    std::ifstream name(proc(pid, "comm"));
    if (!std::getline(name, program)) refuse(source, ESRCH);
    check_architecture();
    read_mappings();
    check_access();
}

void Process::check_architecture() const {
    Elf64_Ehdr header{};
    const int file = open(proc(pid_, "exe").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) refuse("the program of " + source, errno);
    const ssize_t size = pread(file, &header, sizeof header, 0);
    close(file);
    if (size != static_cast<ssize_t>(sizeof header) || !is_our_machine(header))
        throw tools::Failure("the program of " + source, machine_name(header), kOurMachine,
                             "use the dat_trace that was built for that architecture");
}

void Process::read_mappings() {
    errno = 0;
    std::ifstream maps(proc(pid_, "maps"));
    std::string line;
    while (std::getline(maps, line)) {
        unsigned long start = 0, end = 0;
        char rights[5] = {};
        int path = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &start, &end, rights, &path) !=
                3 ||
            path == 0)
            continue;
        if (rights[1] == 'w' && rights[3] == 'p' && line[static_cast<std::size_t>(path)] == '/')
            mappings.push_back({start, end, line.substr(static_cast<std::size_t>(path))});
    }
    if (mappings.empty() && errno != 0) refuse("the memory map of " + source, errno);
}

void Process::check_access() const {
    if (mappings.empty()) return;
    char byte;
    if (!read(mappings.front().start, &byte, 1)) refuse("the memory of " + source, errno);
}

bool Process::read(std::uint64_t address, void* into, std::size_t size) const {
    auto* next = static_cast<char*>(into);
    while (size > 0) {
        const iovec local{next, size};
        const iovec remote{reinterpret_cast<void*>(address), size};
        const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
        if (got <= 0) return false;
        next += got;
        address += static_cast<std::uint64_t>(got);
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

void Process::write(std::uint64_t address, const void* from, std::size_t size) const {
    const iovec local{const_cast<void*>(from), size};
    const iovec remote{reinterpret_cast<void*>(address), size};
    if (process_vm_writev(pid_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(size))
        refuse("the memory of " + source, errno);
}

}  // namespace tracing
