// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explanation.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "providers/soft/softverbs/fabric/devices.hpp"

namespace softverbs::tool {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void add(Names& names, std::string_view name) {
    if (!contains(names, name)) names.emplace_back(name);
}

Names split(std::string_view text, char separator) {
    Names parts;
    std::istringstream stream{std::string(text)};
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

bool is_soft(const std::string& device) {
    return device_named(device, kMostDevices).has_value();
}

/// One program in one process, which may run several, one after the other.
struct Process {
    std::string id;
    std::string program;
    Names listed;
    Names opened;
    std::string failed;  ///< a device that did not open
    int error = 0;       ///< the reason
    std::string cm;      ///< whose rdma_cm it called; "" when it called none
    std::string unasked;

    bool has_asked() const {
        return !listed.empty() || !opened.empty() || !failed.empty() || !cm.empty();
    }
};

void take_failure(Process& process, const std::string& detail) {
    const std::size_t space = detail.find(' ');
    if (space == std::string::npos) return;
    process.failed = detail.substr(0, space);
    process.error = std::atoi(detail.c_str() + space);
}

void take(Process& process, const std::string& word, const std::string& detail) {
    if (word == "listed")
        for (const std::string& name : split(detail, ',')) add(process.listed, name);
    else if (word == "opened")
        add(process.opened, detail);
    else if (word == "failed")
        take_failure(process, detail);
    else if (word == "cm")
        process.cm = detail;
    else if (word == "unasked")
        process.unasked = detail;
}

std::vector<Process> read(std::string_view account) {
    std::vector<Process> processes;
    for (const std::string& line : split(account, '\n')) {
        Names fields = split(line, '\t');
        if (fields.size() < 3) continue;
        fields.resize(4);
        auto known = std::find_if(processes.begin(), processes.end(), [&](const Process& one) {
            return one.id == fields[0] && one.program == fields[1];
        });
        if (known == processes.end())
            known = processes.insert(known, Process{fields[0], fields[1], {}, {}, {}, 0, {}, {}});
        take(*known, fields[2], fields[3]);
    }
    return processes;
}

std::string about_others(const Process& process) {
    const bool sees_soft = std::any_of(process.listed.begin(), process.listed.end(), is_soft);
    if (!sees_soft) return "";
    return fmt::format(
        ". It found {}, and took the first, or what its options or settings name. Name soft0 there "
        "(-d soft0, UCX_NET_DEVICES=soft0:1), or hide the others: softverbs run --only",
        fmt::join(process.listed, ", "));
}

std::string about_cm(const Process& process) {
    return process.cm == "system" ? "called rdma_cm, which is the system's as --cm=system asks, so "
                                    "it never reached soft0"
                                  : "called rdma_cm, which is soft0's";
}

std::string about_none_opened(const Process& process) {
    return fmt::format(
        "found {}, and opened none: it asked for another name, or for something that it does not "
        "find there. Its own log may say what (UCX_LOG_LEVEL=info, FI_LOG_LEVEL=info)",
        fmt::join(process.listed, ", "));
}

std::string about_unasked(const Process& process) {
    if (process.unasked == "opened")
        return "opened libibverbs.so.1 by dlopen, where a preloaded library does not come first: "
               "softverbs run --drop-in reaches it";
    if (process.unasked == "linked") return "has libibverbs.so.1, and never asked it for devices";
    if (process.unasked == "absent")
        return "never loaded libibverbs.so.1: it uses no verbs, or its plug-in that does is not "
               "installed or not chosen";
    return "asked for no device before a signal ended it, or before it became another program, "
           "without "
           "libsoftverbs.so: has something cleared LD_PRELOAD?";
}

std::string sentence(const Process& process) {
    if (!process.failed.empty() && process.opened.empty())
        return fmt::format("could not open {}: {}{}", process.failed, std::strerror(process.error),
                           is_soft(process.failed) ? "; a message above names the cause" : "") +
               (is_soft(process.failed) ? "" : about_others(process));
    if (!process.opened.empty()) {
        const bool took_soft = std::any_of(process.opened.begin(), process.opened.end(), is_soft);
        return fmt::format("took {}", fmt::join(process.opened, ", ")) +
               (took_soft ? "" : about_others(process));
    }
    if (!process.cm.empty()) return about_cm(process);
    if (!process.listed.empty()) return about_none_opened(process);
    return about_unasked(process);
}

struct Line {
    std::string program;
    std::string says;
    Names processes;
};

}  // namespace

/// Shells and launchers have nothing to do with verbs: if any process has asked for devices, those
/// that have not are left out, unless they went past the library.
std::string explanation(std::string_view account) {
    const std::vector<Process> processes = read(account);
    const bool has_any_asked = std::any_of(processes.begin(), processes.end(),
                                           [](const Process& one) { return one.has_asked(); });
    std::vector<Line> lines;
    for (const Process& process : processes) {
        if (has_any_asked && !process.has_asked() && process.unasked != "opened") continue;
        const std::string says = sentence(process);
        const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
            return line.program == process.program && line.says == says;
        });
        if (same != lines.end())
            same->processes.push_back(process.id);
        else
            lines.push_back({process.program, says, {process.id}});
    }
    std::string text;
    for (const Line& line : lines)
        text += fmt::format("{} ({} {}) {}\n", line.program,
                            line.processes.size() == 1 ? "process" : "processes",
                            fmt::join(line.processes, ", "), line.says);
    return text;
}

namespace {

namespace fs = std::filesystem;

/// @return the file that execvp(3) finds; the name itself when it finds none.
std::string find_program(const std::string& name) {
    const char* const path = std::getenv("PATH");
    if (name.find('/') != std::string::npos || !path) return name;
    for (const std::string& folder : split(path, ':'))
        if (const fs::path file = fs::path(folder) / name; access(file.c_str(), X_OK) == 0)
            return file.string();
    return name;
}

/// @return the interpreter that a script's first line names; "" when it is no script.
std::string interpreter_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    std::getline(file, line);
    if (!line.starts_with("#!")) return "";
    std::istringstream words(line.substr(2));
    std::string interpreter;
    words >> interpreter;
    return interpreter;
}

bool has_privileges(const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return false;
    return (status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
           getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// @param wanted this program's own header. @return whether the file has a dynamic linker; one that
/// cannot be read is taken to have one.
bool is_dynamic(std::ifstream& file, const Elf64_Ehdr& header) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part = {};
        file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * sizeof part));
        if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return true;
        if (part.p_type == PT_INTERP) return true;
    }
    return false;
}

Elf64_Ehdr header_of(std::ifstream& file) {
    Elf64_Ehdr header = {};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    return file && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 ? header : Elf64_Ehdr{};
}

}  // namespace

std::string why_not_loaded(const std::string& program) {
    std::string path = find_program(program);
    if (const std::string interpreter = interpreter_of(path); !interpreter.empty())
        path = interpreter;
    if (has_privileges(path))
        return path +
               " runs with more privileges than its caller (set-user-id, or capabilities of "
               "its file), so that the dynamic linker preloads nothing. Run a copy without them";
    std::ifstream file(path, std::ios::binary), own("/proc/self/exe", std::ios::binary);
    const Elf64_Ehdr header = header_of(file), mine = header_of(own);
    const bool is_elf = header.e_ident[EI_MAG0] != 0;
    if (is_elf &&
        (header.e_ident[EI_CLASS] != mine.e_ident[EI_CLASS] || header.e_machine != mine.e_machine))
        return path + " is for another machine or word size than libsoftverbs.so";
    if (is_elf && mine.e_ident[EI_CLASS] == ELFCLASS64 && !is_dynamic(file, header))
        return path +
               " is linked statically, so that nothing can be preloaded. Link it with shared "
               "libraries";
    return path +
           " ran without libsoftverbs.so: it or its launcher has cleared LD_PRELOAD or "
           "SOFTVERBS_EXPLAIN, or started the program elsewhere (sudo, ssh, a container)";
}

}  // namespace softverbs::tool
