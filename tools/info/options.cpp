// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/options.hpp"

namespace info {
namespace {

void check(const Options& options) {
    if (options.thread_safe && options.explain.empty())
        throw tools::WrongUsage("--threadsafe requires --explain");
    if (options.verbose && (options.settings || !options.explain.empty()))
        throw tools::WrongUsage("--verbose cannot be combined with --settings or --explain");
    if (options.settings && !options.explain.empty())
        throw tools::WrongUsage("--settings cannot be combined with --explain");
    if (!options.ia.empty() && !options.settings)
        throw tools::WrongUsage("--ia requires --settings");
}

}  // namespace

tools::CommandLine command_line(Options& options) {
    return {"dat_info",
            "Shows the IAs that programs can open on this machine, and what determines that.\n"
            "  dat_info                a line for each IA\n"
            "  dat_info --verbose      all limits and attributes of each IA\n"
            "  dat_info --explain IA   a dry run of dat_ia_open: each choice and its source\n"
            "  dat_info --settings     each setting with value, source and default",
            {{"-e,--explain", "IA", "show how this IA would be opened, or why it would not",
              tools::text(options.explain)},
             {"--threadsafe", nullptr,
              "with --explain: as for a program that requests a thread-safe provider",
              tools::flag(options.thread_safe), 1, false, "-t"},
             {"--settings", nullptr, "show all settings, and those that are set but not used",
              tools::flag(options.settings), 1, false, "-s"},
             {"-i,--ia", "IA", "with --settings: the values for this IA", tools::text(options.ia)},
             {"-v,--verbose", nullptr, "show all limits and attributes of each IA",
              tools::flag(options.verbose)},
             {"-j,--json", nullptr, "print one JSON document", tools::flag(options.json)}},
            {},
            "Exit status: 0 works, 1 an IA cannot be opened, 2 wrong usage, 3 works, but "
            "degraded.",
            [&options] { check(options); }};
}

}  // namespace info
