// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/explore.hpp"

#include <algorithm>
#include <cstdio>

#include "providers/soft/softverbs/faults/rule_text.hpp"
#include "tools/common/options.hpp"
#include "tools/softverbs/explore/campaign.hpp"
#include "tools/softverbs/explore/files.hpp"
#include "tools/softverbs/explore/report.hpp"

namespace softverbs::explore {
namespace {

constexpr char kName[] = "softverbs explore";
constexpr int kFound = 1, kSignalled = 128;

/// All seeds make the same faults unless a rule has a probability.
void warn_of_equal_runs(const Options& options) {
    const auto rules = faults::parse_rules(options.rules);
    const bool differ = std::any_of(rules->begin(), rules->end(),
                                    [](const faults::Rule& rule) { return rule.probability < 1; });
    if (differ || options.seeds == 1) return;
    std::fprintf(stderr,
                 "%s: no rule has a probability, so all %u seeds make the same faults; "
                 "use --seeds=1\n",
                 kName, options.seeds);
}

Findings search(const Options& options, const Tool& tool) {
    Runner runner(options, tool);
    return Campaign(options, runner).carry_out();
}

int report(const Options& options, const Findings& findings) {
    const std::string text = options.json ? as_json(options, findings) : as_text(findings);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (tools::flush_output() != 0) return tools::kUsageStatus;
    if (!options.junit.empty()) write_file(options.junit, as_junit(options, findings));
    keep(options, findings);
    if (!findings.kinds.empty()) return kFound;
    return findings.interrupted != 0 ? kSignalled + findings.interrupted : 0;
}

}  // namespace

int explore(int argc, char** argv, const Tool& tool) {
    int status = 0;
    const auto options = parse(argc, argv, status);
    if (!options) return status;
    warn_of_equal_runs(*options);
    // All that fails beside the command makes the search worthless, as wrong usage does.
    return tools::run(
        kName, [&] { return report(*options, search(*options, tool)); }, tools::kUsageStatus);
}

}  // namespace softverbs::explore
