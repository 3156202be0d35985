// SPDX-License-Identifier: BSD-2-Clause
#include <filesystem>

#include "tools/softverbs/explore/files.hpp"
#include "tools/softverbs/explore/report.hpp"

namespace softverbs::explore {
namespace {

std::string lines(const Rules& rules) {
    std::string text;
    for (const std::string& rule : rules) text += rule + '\n';
    return text;
}

void keep_kind(const std::string& directory, const Finding& kind) {
    std::filesystem::create_directories(directory);
    const Run& run = kind.example;
    write_file(directory + "/command", kind.command + '\n');
    write_file(directory + "/outcome", to_text(kind.outcome) + '\n');
    write_file(directory + "/rules", lines(kind.rules));
    write_file(directory + "/log", lines(run.log));
    write_file(directory + "/stdout", run.output);
    write_file(directory + "/stderr", run.errors);
    write_file(directory + "/stacks", run.stacks);
    write_file(directory + "/queue_pairs", run.queue_pairs);
}

}  // namespace

void keep(const Options& options, const Findings& findings) {
    if (options.keep.empty()) return;
    std::filesystem::create_directories(options.keep);
    unsigned number = 0;
    for (const Finding& kind : findings.kinds)
        keep_kind(options.keep + '/' + std::to_string(++number), kind);
}

}  // namespace softverbs::explore
