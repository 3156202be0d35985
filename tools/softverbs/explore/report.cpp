// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/report.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "tools/common/terminal.hpp"

namespace softverbs::explore {
namespace {

constexpr std::size_t kMostSeeds = 10, kMostLines = 5;

std::string plural(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(tools::printable(line));
    return lines;
}

/// @return the lines behind a heading, further to the right; "" if there are none.
std::string block(const char* heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return {};
    std::string text = fmt::format("   {}:\n", heading);
    for (const std::string& line : lines) text += "     " + line + '\n';
    return text;
}

std::vector<std::string> last_lines(const std::string& text) {
    auto lines = lines_of(text);
    if (lines.size() > kMostLines)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMostLines));
    return lines;
}

std::string seeds_text(const std::vector<unsigned>& seeds) {
    if (seeds.size() == 1) return fmt::format("seed {}", seeds[0]);
    const std::vector<unsigned> first(
        seeds.begin(),
        seeds.begin() + static_cast<std::ptrdiff_t>(std::min(seeds.size(), kMostSeeds)));
    return fmt::format("seeds {}{}", fmt::join(first, ", "),
                       seeds.size() > kMostSeeds ? ", ..." : "");
}

std::string kind_text(std::size_t number, const Finding& kind) {
    std::string text = fmt::format("\n{}. {}: {}, {}\n", number, to_text(kind.outcome),
                                   plural(kind.seeds.size(), "run"), seeds_text(kind.seeds));
    text += block(
        kind.is_shrunk ? "faults that are needed" : "faults, which do not make it fail each time",
        kind.rules);
    text += block("again", {kind.command});
    text += block("its last errors", last_lines(kind.example.errors));
    text += block("queue pairs", lines_of(kind.example.queue_pairs));
    return text + block("stacks", lines_of(kind.example.stacks));
}

std::size_t count_failed(const Findings& findings) {
    std::size_t count = 0;
    for (const Finding& kind : findings.kinds) count += kind.seeds.size();
    return count;
}

}  // namespace

std::string as_text(const Findings& findings) {
    std::string text = fmt::format("{}, {} failed", plural(findings.results.size(), "run"),
                                   count_failed(findings));
    if (!findings.kinds.empty()) text += " in " + plural(findings.kinds.size(), "way");
    if (findings.interrupted != 0)
        text += fmt::format(", interrupted by SIG{}", sigabbrev_np(findings.interrupted));
    text += '\n';
    std::size_t number = 0;
    for (const Finding& kind : findings.kinds) text += kind_text(++number, kind);
    return text;
}

}  // namespace softverbs::explore
