// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/run.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "tools/softverbs/check.hpp"
#include "tools/softverbs/child.hpp"
#include "tools/softverbs/drop_in.hpp"
#include "tools/softverbs/explain.hpp"

namespace softverbs::tool {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libsoftverbs.so", kHeapLibrary[] = "libsoftverbs-heap.so";

int fail(const std::string& what) {
    std::fprintf(stderr, "softverbs run: %s\n", what.c_str());
    return kRunFailed;
}

/// Prepends `entry` to the value of a variable, unless it is already in it.
void prepend(const char* variable, const std::string& entry, const char* separators) {
    const char* before = std::getenv(variable);
    const std::string rest = before ? before : "";
    for (std::size_t at = 0; at < rest.size();) {
        const std::size_t end = std::min(rest.find_first_of(separators, at), rest.size());
        if (rest.compare(at, end - at, entry) == 0) return;
        at = end + 1;
    }
    setenv(variable, rest.empty() ? entry.c_str() : (entry + ":" + rest).c_str(), 1);
}

/// @return the path of the fabric's directory, which is created if missing; "" when it cannot be
/// used, which has been reported. The path is absolute because the program may change its
/// directory.
std::string open_fabric(const std::string& named) {
    std::error_code failed;
    const fs::path path = fs::absolute(named.empty() ? Directory::chosen_path() : named, failed);
    if (failed || !Directory::open(path.string())) return {};
    return path.string();
}

/// @return false when it could not be built, which has been reported.
bool use_drop_in(const std::string& library, const std::string& fabric) {
    if (fabric.find_first_of(":;") != std::string::npos) {
        fail("LD_LIBRARY_PATH cannot name a directory in " + fabric +
             ": it has a colon or semicolon in its path");
        return false;
    }
    std::string fault;
    const auto folder = make_drop_in(library, fabric, fault);
    if (folder) {
        prepend("LD_LIBRARY_PATH", *folder, ":;");
        return true;
    }
    fail("the drop-in libraries cannot be built: " + fault);
    return false;
}

/// @return false when a library of ours cannot be preloaded, which has been reported.
bool preload(const char* name, const std::string& library) {
    if (library.empty()) {
        fail(std::string(name) + " is not installed beside this program" +
             (name == kHeapLibrary ? ": it is built where libjemalloc-dev is installed" : ""));
        return false;
    }
    if (library.find_first_of(" :") != std::string::npos) {
        fail("LD_PRELOAD cannot name " + library + ": it has a space or a colon in its path");
        return false;
    }
    prepend("LD_PRELOAD", library, " :");
    return true;
}

}  // namespace

std::string find_library(const char* name) {
    std::error_code failed;
    const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
    if (failed) return {};
    // Relative to this program's directory, so that a moved or staged tree works from its place.
    const fs::path from_bin_to_lib = fs::path(LIBDIR).lexically_relative(BINDIR);
    for (const fs::path& folder :
         {here / ".libs", here, here / from_bin_to_lib, here / from_bin_to_lib / "opendat"}) {
        const fs::path library = (folder / name).lexically_normal();
        if (access(library.c_str(), R_OK) == 0) return library.string();
    }
    return {};
}

int replace_by(char** program) {
    execvp(program[0], program);
    const int cause = errno;
    std::fprintf(stderr, "softverbs run: %s: %s\n", program[0], std::strerror(cause));
    return cause == ENOENT ? kNotFound : kCannotExecute;
}

int run(const Options& options) {
    if (options.only && options.cm == "system")
        return fail("--only hides the devices that --cm=system is for");
    const std::string library = find_library(kLibrary);
    if (options.shared_heap && !preload(kHeapLibrary, find_library(kHeapLibrary)))
        return kRunFailed;
    if (!preload(kLibrary, library)) return kRunFailed;
    // Without this, shared run times of the address sanitizer refuse to start after a preloaded
    // library. The user's own options follow, and override this one.
    prepend("ASAN_OPTIONS", "verify_asan_link_order=0", ": ,");
    if (!options.fabric.empty() || options.drop_in) {
        const std::string fabric = open_fabric(options.fabric);
        if (fabric.empty()) return kRunFailed;
        if (!options.fabric.empty()) setenv("SOFTVERBS_FABRIC", fabric.c_str(), 1);
        if (options.drop_in && !use_drop_in(library, fabric)) return kRunFailed;
    }
    if (options.devices != 0)
        setenv("SOFTVERBS_DEVICES", std::to_string(options.devices).c_str(), 1);
    if (options.ports != 0) setenv("SOFTVERBS_PORTS", std::to_string(options.ports).c_str(), 1);
    if (!options.link.empty()) setenv("SOFTVERBS_LINK", options.link.c_str(), 1);
    if (!options.faults.empty()) setenv("SOFTVERBS_FAULTS", options.faults.c_str(), 1);
    if (!options.seed.empty()) setenv("SOFTVERBS_FAULTS_SEED", options.seed.c_str(), 1);
    if (!options.fault_log.empty()) setenv("SOFTVERBS_FAULTS_LOG", options.fault_log.c_str(), 1);
    if (options.time_scale != 0)
        setenv("SOFTVERBS_TIME_SCALE", std::to_string(options.time_scale).c_str(), 1);
    if (options.only) setenv("SOFTVERBS_ONLY", "1", 1);
    if (!options.cm.empty()) setenv("SOFTVERBS_CM", options.cm.c_str(), 1);
    if (!options.check.empty()) setenv("SOFTVERBS_CHECK", options.check.c_str(), 1);
    auto* const run_it = options.check.empty() ? run_child : run_and_check;
    if (options.explain) return run_and_explain(options.program, run_it);
    return options.check.empty() ? replace_by(options.program) : run_and_check(options.program);
}

}  // namespace softverbs::tool
