// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/libraries.hpp"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace doctor {
namespace {

namespace files = std::filesystem;

constexpr const char* kSonames[] = {"libdat2.so.2", "libdaplofa.so.2", "libdaploscm.so.2",
                                    "libdaploucm.so.2", "libdaplsoft.so.2"};
constexpr int kDeepest = 8;  ///< nesting of configuration files that include others

class Directories {
  public:
    explicit Directories(const View& view) : view_(view) {}

    void add(const std::string& directory) {
        std::error_code error;
        const files::path real = files::canonical(view_.root + directory, error);
        if (error || !seen_.insert(real).second) return;
        all_.push_back(directory);
    }
    void add_variable() {
        std::ifstream stream(view_.root + "/proc/self/environ");
        for (std::string entry; std::getline(stream, entry, '\0');) {
            constexpr std::string_view kName = "LD_LIBRARY_PATH=";
            if (!entry.starts_with(kName)) continue;
            std::istringstream list(entry.substr(kName.size()));
            for (std::string one; std::getline(list, one, ':');)
                if (!one.empty()) add(one);
        }
    }
    void add_file(const std::string& file, int depth) {
        std::ifstream stream(view_.root + file);
        for (std::string line; depth < kDeepest && std::getline(stream, line);) {
            std::istringstream words(line.substr(0, line.find('#')));
            std::string first;
            std::string second;
            words >> first >> second;
            if (first == "include") add_included(second, depth + 1);
            if (first.starts_with('/')) add(first);
        }
    }
    std::vector<std::string> take() { return std::move(all_); }

  private:
    void add_included(const std::string& pattern, int depth) {
        const std::string absolute = pattern.starts_with('/') ? pattern : "/etc/" + pattern;
        glob_t found{};
        if (glob((view_.root + absolute).c_str(), 0, nullptr, &found) == 0)
            for (std::size_t i = 0; i < found.gl_pathc; ++i)
                add_file(std::string(found.gl_pathv[i]).substr(view_.root.size()), depth);
        globfree(&found);
    }

    const View& view_;
    std::set<files::path> seen_;
    std::vector<std::string> all_;
};

/// @return the soname of ours that a file's name begins with, "" for none.
std::string soname_of(const std::string& file) {
    const std::string name = file.substr(file.rfind('/') + 1);
    for (const char* soname : kSonames)
        if (name == soname || name.starts_with(std::string(soname) + ".")) return soname;
    return {};
}

}  // namespace

std::vector<std::string> loader_directories(const View& view) {
    Directories all(view);
    all.add_variable();
    all.add_file("/etc/ld.so.conf", 0);
    for (const char* directory : {"/lib", "/usr/lib", "/lib64", "/usr/lib64"}) all.add(directory);
    return all.take();
}

void check_installed(const View& view, const std::vector<std::string>& directories,
                     Findings& findings) {
    std::map<std::string, std::vector<std::string>> by_places;
    for (const char* soname : kSonames) {
        std::string places;
        int count = 0;
        for (const std::string& directory : directories) {
            std::error_code error;
            if (!files::exists(view.root + directory + "/" + soname, error)) continue;
            places += (count++ == 0 ? "" : ", then ") + directory;
        }
        if (count > 1) by_places[places].emplace_back(soname);
    }
    for (const auto& [places, sonames] : by_places) {
        std::string list;
        for (const std::string& soname : sonames) list += (list.empty() ? "" : ", ") + soname;
        findings.add(kSeveralLibraries,
                     fmt::format("{} {} in {}", list, sonames.size() == 1 ? "is" : "are", places),
                     fmt::format("remove the package of the unwanted ones (`dpkg -S {}`, "
                                 "`rpm -qf`), then run ldconfig",
                                 sonames.front()));
    }
}

void check_process(const View& view, const std::string& pid, Findings& findings) {
    std::ifstream maps(view.root + "/proc/" + pid + "/maps");
    std::map<std::string, std::set<std::string>> loaded;  // keyed by soname
    for (std::string line; std::getline(maps, line);) {
        const std::size_t path = line.find('/');
        if (path == std::string::npos) continue;
        std::string file = line.substr(path);
        constexpr std::string_view kDeleted = " (deleted)";
        const bool deleted = file.ends_with(kDeleted);
        if (deleted) file.resize(file.size() - kDeleted.size());
        const std::string soname = soname_of(file);
        if (soname.empty() || !loaded[soname].insert(file + (deleted ? " (deleted)" : "")).second)
            continue;
        if (deleted)
            findings.add(kStaleLibrary,
                         fmt::format("process {} uses {}, which has been deleted", pid, file),
                         "restart the program");
    }
    for (const auto& [soname, all] : loaded) {
        if (all.size() < 2) continue;
        std::string list;
        for (const std::string& file : all) list += (list.empty() ? "" : ", ") + file;
        findings.add(
            kMixedProcess, fmt::format("process {} has loaded {}", pid, list),
            fmt::format("let LD_LIBRARY_PATH and the program's run path lead to a single {} "
                        "(`ldd PROGRAM`, `ldconfig -p | grep {}`)",
                        soname, soname));
    }
}

}  // namespace doctor
