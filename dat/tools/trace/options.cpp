// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The only file of dat_trace that includes CLI11, which takes long to compile.
#include "dat/tools/trace/options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "config.h"

namespace tracing {
namespace {

constexpr int kHighestLevel = 10;

void add_options(CLI::App& app, Options& options) {
    app.add_option("targets", options.targets, "process ids, core files, files that --save wrote")
        ->type_name("PID|FILE");
    app.add_option("-c,--core", options.cores, "a core file")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    const auto add_level = [&](const char* name, std::optional<int>& level, const char* help) {
        app.add_option_function<int>(
               name, [&level](int value) { level = value; }, help)
            ->type_name("LEVEL")
            ->check(CLI::Range(0, kHighestLevel).description(""));
    };
    add_level("--dat", options.dat_level, "change the level of libdat2, 0 to 10");
    add_level("--dapl", options.dapl_level, "change the level of the providers, 0 to 10");
    app.add_option("-s,--save", options.save,
                   "write what there is into a file, for another machine")
        ->type_name("FILE")
        ->take_last();
    app.add_flag("-a,--all", options.all,
                 "of several: all events, not only those of connections between them");
    app.add_flag("--json", options.json, "print one JSON document");
    app.set_version_flag("-V,--version", "dat_trace " PACKAGE_VERSION, "print the version");
    app.set_help_flag("-h,--help", "print this text");
    app.footer("\nExit status: 0 done, 1 something failed, 2 wrong usage.");
}

void require(bool good, const char* what) {
    if (!good) throw CLI::ValidationError(what);
}

void check(const Options& options) {
    const std::size_t targets = options.targets.size() + options.cores.size();
    require(targets > 0, "a PID or a FILE is needed");
    require(options.save.empty() || targets == 1, "--save takes one PID or FILE");
    require(!options.changes_levels() || options.cores.empty(),
            "a core file has no level to change");
    require(!options.changes_levels() || (options.save.empty() && !options.json && !options.all),
            "--dat and --dapl go with process ids alone");
    require(options.save.empty() || (!options.json && !options.all),
            "--save goes with neither --json nor --all");
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_status) {
    CLI::App app{
        "Shows what programs that use DAT did last, and changes how much they tell.\n"
        "  dat_trace PID                      levels, and the timeline of all threads\n"
        "  dat_trace PID --dapl 7 [--dat 7]   change the levels of a running process\n"
        "  dat_trace PID|FILE PID|FILE        the two ends of a connection, merged\n"
        "  dat_trace --core FILE              the same of a process that has ended\n"
        "  dat_trace PID --save FILE          keep it, for dat_trace FILE elsewhere",
        "dat_trace"};
    Options options;
    add_options(app, options);
    try {
        app.parse(argc, argv);
        check(options);
    } catch (const CLI::ParseError& error) {
        exit_status = 0;
        if (error.get_exit_code() == 0) {
            app.exit(error);
        } else {
            std::cerr << "dat_trace: " << error.what() << "; dat_trace --help lists the options\n";
            exit_status = kUsageStatus;
        }
        return std::nullopt;
    }
    exit_status = 0;
    return options;
}

}  // namespace tracing
