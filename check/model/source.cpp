// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/source.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

namespace check {
namespace {

// The part of libdw's interface that is used (elfutils/libdwfl.h). It is declared here, and the
// library loaded at the first report, so that neither building nor running OpenDAT needs elfutils.
struct Session;
struct Module;
struct Line;
struct Callbacks {
    using Any = void (*)();
    Any find_elf;
    Any find_debug_information;
    Any section_address;
    char** debug_information_path;
};

struct Library {
    Session* (*begin)(const Callbacks*);
    void (*end)(Session*);
    int (*report_process)(Session*, pid_t);
    int (*end_report)(Session*, void*, void*);
    Module* (*module_at)(Session*, std::uint64_t);
    const char* (*name_at)(Module*, std::uint64_t);
    Line* (*line_at)(Module*, std::uint64_t);
    const char* (*read_line)(Line*, std::uint64_t*, int*, int*, std::uint64_t*, std::uint64_t*);
    Callbacks callbacks;
    bool is_whole;
};

Library load() {
    // A version of the interface is a version of the file's name. It stays loaded.
    void* file = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    Library library{};
    if (!file) return library;
    library.is_whole = true;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
        library.is_whole = library.is_whole && function;
    };
    find(library.begin, "dwfl_begin");
    find(library.end, "dwfl_end");
    find(library.report_process, "dwfl_linux_proc_report");
    find(library.end_report, "dwfl_report_end");
    find(library.module_at, "dwfl_addrmodule");
    find(library.name_at, "dwfl_module_addrname");
    find(library.line_at, "dwfl_module_getsrc");
    find(library.read_line, "dwfl_lineinfo");
    find(library.callbacks.find_elf, "dwfl_linux_proc_find_elf");
    // Not dwfl_standard_find_debuginfo, which may ask a server.
    find(library.callbacks.find_debug_information, "dwfl_build_id_find_debuginfo");
    return library;
}

/// Loads without a lock: whoever waited for it might hold the dynamic linker's.
const Library& library() {
    static std::atomic<const Library*> known{nullptr};
    const Library* loaded = known.load(std::memory_order_acquire);
    if (loaded) return *loaded;
    auto made = std::make_unique<const Library>(load());
    if (!known.compare_exchange_strong(loaded, made.get())) return *loaded;
    return *made.release();
}

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return status == 0 && readable ? readable.get() : name;
}

/// ibv_post_send() and others are inline functions there: the line of who has called them is not
/// known.
bool is_of_verbs(const char* file) {
    return std::strstr(file, "/infiniband/") != nullptr;
}

const char* without_directory(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

}  // namespace

Source source_of(const void* address) {
    Source source;
    const Library& dw = library();
    if (!dw.is_whole) return source;
    const std::unique_ptr<Session, void (*)(Session*)> session(dw.begin(&dw.callbacks), dw.end);
    if (!session || dw.report_process(session.get(), getpid()) != 0 ||
        dw.end_report(session.get(), nullptr, nullptr) != 0)
        return source;
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    Module* module = dw.module_at(session.get(), place);
    if (!module) return source;
    if (const char* name = dw.name_at(module, place)) source.function = demangled(name);
    int number = 0;
    Line* line = dw.line_at(module, place);
    const char* file =
        line ? dw.read_line(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;
    if (!file || is_of_verbs(file)) return source;
    source.file = without_directory(file);
    source.line = number;
    return source;
}

}  // namespace check
