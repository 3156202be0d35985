// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_trace: what programs that use DAT did last, read from their memory, and their trace levels.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/common/failure.hpp"
#include "tools/common/options.hpp"
#include "tools/trace/dump_file.hpp"
#include "tools/trace/levels.hpp"
#include "tools/trace/options.hpp"
#include "tools/trace/perfetto.hpp"
#include "tools/trace/report.hpp"
#include "tools/trace/source.hpp"

namespace {

using namespace tracing;

int print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return tools::flush_output();
}

int change(const Options& options) {
    std::string text;
    for (const std::string& target : options.targets) {
        const auto pid = parse_pid(target);
        if (!pid)
            throw tools::Failure(target, "not a number", "the number of a running process",
                                 "see `ps -e`");
        text += change_levels(*pid, options.dat_level, options.dapl_level);
    }
    return print(text);
}

int write_file(const std::string& path, const void* bytes, std::size_t size) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    bool good = file && std::fwrite(bytes, 1, size, file) == size;
    if (file) good = std::fclose(file) == 0 && good;
    if (!good)
        throw tools::Failure(path, std::strerror(errno), "a file that can be written",
                             "name another one");
    return 0;
}

int save(const Snapshot& snapshot, const std::string& path) {
    const std::vector<std::byte> dump = to_dump(snapshot);
    return write_file(path, dump.data(), dump.size());
}

int show(const Options& options) {
    std::vector<Snapshot> snapshots;
    for (const std::string& target : options.targets) snapshots.push_back(open_target(target));
    for (const std::string& path : options.cores) snapshots.push_back(open_file(path));
    if (!options.save.empty()) return save(snapshots.front(), options.save);
    Timeline timeline = make_timeline(snapshots);
    const bool all = options.all || options.object != 0;
    if (snapshots.size() > 1 && !all && timeline.connections.empty())
        std::fprintf(stderr,
                     "dat_trace: the traces have no connection between these: all events are "
                     "shown; a larger OPENDAT_TRACE_EVENTS keeps more\n");
    if (!options.perfetto.empty()) {
        const std::string events = to_trace_events(snapshots, timeline);
        write_file(options.perfetto, events.data(), events.size());
        return print(options.perfetto +
                     " is written: open it at https://ui.perfetto.dev or chrome://tracing\n");
    }
    if (!options.hooks.empty()) keep_hooks(timeline, options.hooks);
    if (options.object != 0) keep_object(timeline, options.object);
    return print(options.json ? to_json(snapshots, timeline, all)
                              : to_table(snapshots, timeline, all));
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_trace",
                      [&] { return options.changes_levels() ? change(options) : show(options); });
}
