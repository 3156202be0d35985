// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/levels.hpp"

#include <fmt/core.h>

#include <cstring>

#include "tools/common/failure.hpp"
#include "tools/trace/process.hpp"
#include "tools/trace/snapshot.hpp"

namespace tracing {
namespace {

/// @return whether the library is still loaded: it may have been unloaded since it was found.
bool is_there(const Process& process, const Library& library) {
    char magic[sizeof support::kTraceMagic];
    return process.read(library.address, magic, sizeof magic) &&
           std::memcmp(magic, support::kTraceMagic, sizeof magic) == 0;
}

}  // namespace

std::string change_levels(pid_t pid, std::optional<int> dat, std::optional<int> dapl) {
    const Process process(pid);
    std::string text;
    for (const Library& library : take_snapshot(process).libraries) {
        const bool is_dat = library.side == support::TraceSide::kDat;
        const std::optional<int> level = is_dat ? dat : dapl;
        if (!level || !is_there(process, library)) continue;
        const support::TraceLevels levels(*level);
        process.write(library.address + offsetof(support::TraceObject, level), &levels,
                      sizeof levels);
        text += fmt::format(
            "{}: {} level {} -> {}\n", library.path.substr(library.path.rfind('/') + 1),
            is_dat ? "DAT" : "DAPL",
            library.level < 0 ? "not set yet" : fmt::format("{}", library.level), *level);
    }
    if (text.empty())
        throw tools::Failure(process.source, "no library of that side is loaded",
                             dapl ? "a provider of OpenDAT" : "libdat2 of OpenDAT",
                             "wait until the program has opened an adapter (dat_ia_open)");
    return text;
}

}  // namespace tracing
