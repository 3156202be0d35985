// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/options.hpp"

namespace tracing {
namespace {

constexpr int kHighestLevel = 10;

tools::Take level(std::optional<int>& target) {
    return [&target](const std::string& text) {
        target = static_cast<int>(tools::parse_integer(text, 0, kHighestLevel));
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
             {"-j,--json", nullptr, "print one JSON document", tools::flag(options.json)}},
            {},
            "Exit status: 0 done, 1 something failed, 2 wrong usage.",
            [&options] { check(options); }};
}

}  // namespace tracing
