// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/libraries.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace tools {
namespace {

/// @return what the child writes: a letter (o ours, f foreign, e error) and a text.
std::string look(const std::string& name) {
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char* error = dlerror();
        return std::string("e") + (error ? error : "the loader gives no reason");
    }
    const link_map* map = nullptr;
    const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map;
    const bool ours = dlvsym(library, "dat_cno_trigger", "OPENDAT_1.0") != nullptr;
    return (ours ? "o" : "f") + std::string(known ? map->l_name : "");
}

[[noreturn]] void answer(int descriptor, const std::string& name) {
    // A library may report errors in its files when it is loaded; these do not matter here.
    if (const int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) dup2(null, 2);
    const std::string text = look(name);
    const ssize_t written = write(descriptor, text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

std::string read_all(int descriptor) {
    std::string text;
    char room[PATH_MAX];
    for (ssize_t count; (count = read(descriptor, room, sizeof room)) > 0;)
        text.append(room, static_cast<std::size_t>(count));
    return text;
}

std::string directory_of(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    return slash == std::string::npos ? "" : file.substr(0, slash);
}

/// @return whether the colon-separated list in the variable contains the directory.
bool lists(const char* variable, const std::string& directory) {
    const char* value = secure_getenv(variable);
    std::string_view rest = value ? value : "";
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(':'));
        if (!one.empty() && resolved(std::string(one)) == directory) return true;
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    return false;
}

}  // namespace

FoundLibrary find_libdat2(const std::string& name) {
    int ends[2];
    if (pipe(ends) != 0) return {"", "no pipe could be created", false};
    const pid_t child = fork();
    if (child == 0) answer(ends[1], name);
    close(ends[1]);
    const std::string text = child > 0 ? read_all(ends[0]) : "";
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    if (text.empty()) return {"", "the library ends the process that loads it", false};
    if (text[0] == 'e') return {"", text.substr(1), false};
    return {resolved(text.substr(1)), "", text[0] == 'o'};
}

std::string found_by(const std::string& asked, const std::string& file) {
    if (asked.find('/') != std::string::npos) return "the path as given";
    const std::string directory = resolved(directory_of(file));
    if (lists("LD_LIBRARY_PATH", directory)) return "environment LD_LIBRARY_PATH";
    return "the loader's cache or default directories (ldconfig)";
}

std::string resolved(const std::string& path) {
    char room[PATH_MAX];
    return realpath(path.c_str(), room) ? room : path;
}

std::string version_in(std::string_view file) {
    constexpr std::string_view kMark = ".so.";
    const std::size_t mark = file.rfind(kMark);
    return mark == std::string_view::npos ? "" : std::string(file.substr(mark + kMark.size()));
}

}  // namespace tools
