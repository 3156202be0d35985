// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/options.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "providers/soft/softverbs/faults/rule_files.hpp"
#include "tools/common/options.hpp"

namespace softverbs::explore {
namespace {

constexpr int kMostSeed = 2147483647, kMostRuns = 1000000, kMostJobs = 4096;
constexpr double kMostSeconds = 86400;

unsigned count_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

/// Takes rules, or '@' and the name of their file.
tools::Take rules(Options& target) {
    return [&target](const std::string& value) {
        const bool is_file = value[0] == '@';
        const auto rules =
            is_file ? faults::read_rules_file(value.substr(1)) : faults::parse_rules(value);
        if (!rules)
            throw tools::WrongUsage((is_file ? value.substr(1) + ": " : "") + rules.error());
        target.rules = faults::to_text(*rules);
        target.rules_given = value;
        if (rules->empty()) throw tools::WrongUsage("there is no rule");
    };
}

/// Takes a path, which holds for whatever directory the command works in.
tools::Take path(std::string& target) {
    return [&target](const std::string& value) {
        target = std::filesystem::absolute(value).lexically_normal().string();
    };
}

tools::Take accepted(std::vector<int>& target) {
    constexpr int kMostStatus = 255;
    return [&target](const std::string& value) {
        target.push_back(static_cast<int>(tools::parse_integer(value, 1, kMostStatus)));
    };
}

/// Takes an option of `softverbs run`, which checks its argument.
tools::Take passed_on(std::vector<std::string>& target, const char* name, bool has_argument) {
    return [&target, name, has_argument](const std::string& value) {
        target.emplace_back(name);
        if (has_argument) target.push_back(value);
    };
}

std::vector<tools::Option> table(Options& options) {
    return {
        {"--faults", "RULES", "the fault rules, or those of a file: @FILE", rules(options)},
        {"--seeds", "N", "how many seeds to try [100]", tools::number(options.seeds, 1, kMostRuns)},
        {"--first-seed", "N", "the first of them [1]",
         tools::number(options.first_seed, 0, kMostSeed)},
        {"-t,--timeout", "SECONDS", "a run that takes longer hangs [60]",
         tools::real(options.timeout, 0.1, kMostSeconds)},
        {"--jobs", "N", "how many runs at a time [one for each processor]",
         tools::number(options.jobs, 1, kMostJobs)},
        {"--accept", "STATUS",
         "a run may also end with this status, with any output; may be repeated",
         accepted(options.accepted)},
        {"--ignore-output", nullptr, "do not compare what the command prints on standard output",
         tools::flag(options.ignore_output)},
        {"--normalize", "COMMAND", "filter the output with this shell command before comparing it",
         tools::text(options.normalize)},
        {"--keep", "DIR", "keep what was found there: rules, log, output, stacks",
         path(options.keep)},
        {"-j,--json", nullptr, "print a JSON document", tools::flag(options.json)},
        {"--junit", "FILE", "write a JUnit report there", path(options.junit)},
        {"--cm", "WHOSE", "as softverbs run has it; one of soft0, system",
         passed_on(options.device, "--cm", true)},
        {"--only", nullptr, "as softverbs run has it", passed_on(options.device, "--only", false)},
        {"--devices", "N", "as softverbs run has it", passed_on(options.device, "--devices", true)},
        {"--ports", "N", "as softverbs run has it", passed_on(options.device, "--ports", true)},
        {"--time-scale", "N", "as softverbs run has it",
         passed_on(options.device, "--time-scale", true)},
        {"--drop-in", nullptr, "as softverbs run has it",
         passed_on(options.device, "--drop-in", false)},
        {"--shared-heap", nullptr, "as softverbs run has it",
         passed_on(options.device, "--shared-heap", false)},
    };
}

void check(const Options& options) {
    if (options.rules.empty()) throw tools::WrongUsage("--faults is required");
    if (options.command.empty()) throw tools::WrongUsage("no command is named behind --");
    if (options.seeds - 1 > static_cast<unsigned>(kMostSeed) - options.first_seed)
        throw tools::WrongUsage("the last seed is above " + std::to_string(kMostSeed));
    if (options.ignore_output && !options.normalize.empty())
        throw tools::WrongUsage("--ignore-output leaves nothing to do for --normalize");
}

tools::CommandLine command_line(Options& options) {
    return {
        "softverbs explore",
        "usage: softverbs explore --faults RULES [OPTION]... -- COMMAND [ARGUMENT]...\n"
        "Runs a command under many seeds of fault rules, and reports the runs that crash, hang\n"
        "or end otherwise than without faults, each kind with the fewest faults that it needs.",
        table(options),
        {},
        "Exit status: 0 nothing was found, 1 something was found, 2 wrong usage, or the command "
        "fails without faults.",
        [&options] { check(options); }};
}

}  // namespace

std::optional<Options> parse(int argc, char** argv, int& status) {
    Options options;
    options.jobs = count_processors();
    char** const end = argv + argc;
    char** const dashes =
        std::find_if(argv, end, [](const char* word) { return std::strcmp(word, "--") == 0; });
    if (dashes != end) options.command.assign(dashes + 1, end);
    const auto parsed = tools::parse(command_line(options), static_cast<int>(dashes - argv), argv);
    if (!parsed.exit_status) return options;
    status = *parsed.exit_status;
    return std::nullopt;
}

}  // namespace softverbs::explore
