// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/options.hpp"

#include <charconv>
#include <sstream>
#include <string_view>

#include "support/trace/trace_ring.hpp"

namespace tracing {
namespace {

using support::TraceHook;
constexpr TraceHook kHooks[] = {TraceHook::kDapl, TraceHook::kDaplError, TraceHook::kDat,
                                TraceHook::kDatError};

constexpr int kHighestLevel = 10;

tools::Take level(std::optional<int>& target) {
    return [&target](const std::string& text) {
        target = static_cast<int>(tools::parse_integer(text, 0, kHighestLevel));
    };
}

/// @return a hook id in hexadecimal, as AIX writes them, with or without 0x; 0 for anything else.
std::uint16_t parse_hook(std::string_view text) {
    constexpr int kHexadecimal = 16;
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    std::uint16_t id = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), id, kHexadecimal);
    return error == std::errc() && end == text.data() + text.size() ? id : 0;
}

/// Adds those of our hook ids that are in a range: 5C3-5C4, or a single id.
void add_hooks(std::string_view range, std::set<std::uint16_t>& hooks) {
    const std::size_t dash = range.find('-');
    const std::uint16_t first = parse_hook(range.substr(0, dash));
    const std::uint16_t last =
        dash == std::string_view::npos ? first : parse_hook(range.substr(dash + 1));
    bool found = false;
    for (const TraceHook hook : kHooks) {
        const auto id = static_cast<std::uint16_t>(hook);
        if (id < first || id > last) continue;
        hooks.insert(id);
        found = true;
    }
    if (!found)
        throw tools::WrongUsage("'" + std::string(range) +
                                "' is not a hook id: 5C3 (DAPL), 5C4 (DAPL error), 5C7 (DAT), 5C8 "
                                "(DAT error), or a range like 5C3-5C4 with at least one of them");
}

tools::Take hook_list(std::set<std::uint16_t>& hooks) {
    return [&hooks](const std::string& text) {
        std::istringstream list(text);
        for (std::string range; std::getline(list, range, ',');) add_hooks(range, hooks);
        if (text.empty() || text.back() == ',') add_hooks("", hooks);
    };
}

void check(const Options& options) {
    const auto require = [](bool good, const char* what) {
        if (!good) throw tools::WrongUsage(what);
    };
    const std::size_t targets = options.targets.size() + options.cores.size();
    require(targets > 0, "a PID or a FILE is required");
    require(options.save.empty() || targets == 1, "--save takes one PID or FILE");
    require(!options.changes_levels() || options.cores.empty(),
            "a core file has no level to change");
    require(!options.changes_levels() || (options.save.empty() && !options.json && !options.all),
            "--dat and --dapl cannot be combined with --save, --json or --all");
    require(options.perfetto.empty() ||
                (options.save.empty() && !options.json && !options.changes_levels()),
            "--perfetto cannot be combined with --save, --json, --dat or --dapl");
    require(options.hooks.empty() ||
                (options.save.empty() && options.perfetto.empty() && !options.changes_levels()),
            "--hooks cannot be combined with --save, --perfetto, --dat or --dapl");
    require(options.object == 0 ||
                (options.save.empty() && options.perfetto.empty() && !options.changes_levels()),
            "--object cannot be combined with --save, --perfetto, --dat or --dapl");
    require(options.save.empty() || (!options.json && !options.all),
            "--save cannot be combined with --json or --all");
}

}  // namespace

tools::CommandLine command_line(Options& options) {
    return {"dat_trace",
            "Shows what programs that use DAT did last, and changes their trace levels.\n"
            "  dat_trace PID                      levels, and the timeline of all threads\n"
            "  dat_trace PID --dapl 7 [--dat 7]   change the levels of a running process\n"
            "  dat_trace PID|FILE PID|FILE        the two ends of a connection, merged\n"
            "  dat_trace --core FILE              the same of a process that has ended\n"
            "  dat_trace PID --save FILE          save it, for dat_trace FILE elsewhere\n"
            "  dat_trace PID PID --perfetto FILE  trace events for Perfetto",
            {{"targets", "PID|FILE", "process ids, core files, files that --save wrote",
              tools::list(options.targets), tools::kAnyNumber},
             {"-c,--core", "FILE", "a core file", tools::list(options.cores)},
             {"--dat", "LEVEL", "change the level of libdat2, 0 to 10", level(options.dat_level)},
             {"--dapl", "LEVEL", "change the level of the providers, 0 to 10",
              level(options.dapl_level)},
             {"--save", "FILE", "save the trace in a file, for another machine",
              tools::text(options.save), 1, false, "-s"},
             {"--perfetto", "FILE", "write the timeline as trace events, for ui.perfetto.dev",
              tools::text(options.perfetto)},
             {"-a,--all", nullptr,
              "with several: all events, not only those of connections between them",
              tools::flag(options.all)},
             {"--hooks", "LIST",
              "only events with these hook ids: 5C3 DAPL, 5C4 DAPL error, 5C7 DAT, 5C8 DAT error; "
              "separated by commas, or ranges (5C3-5C4)",
              hook_list(options.hooks)},
             {"--object", "ID",
              "only events of this object, and of the connection that it is an end of",
              tools::object_id(options.object)},
             {"-j,--json", nullptr, "print one JSON document", tools::flag(options.json)}},
            {},
            "Exit status: 0 done, 1 something failed, 2 wrong usage.",
            [&options] { check(options); }};
}

}  // namespace tracing
