// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "tools/softverbs/explore/report.hpp"

namespace softverbs::explore {
namespace {

/// @return the text within XML: what XML 1.0 has no characters for becomes '?'.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else if (c == '\n')
            out += "&#10;";
        else
            out += byte < ' ' || byte > '~' ? '?' : c;
    }
    return out;
}

const Finding* kind_of(const Findings& findings, unsigned seed) {
    for (const Finding& kind : findings.kinds)
        if (std::binary_search(kind.seeds.begin(), kind.seeds.end(), seed)) return &kind;
    return nullptr;
}

std::string failure(const Finding& kind) {
    std::string text = kind.command + '\n';
    for (const std::string& rule : kind.rules) text += rule + '\n';
    text += kind.example.queue_pairs + kind.example.stacks;
    return fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>",
                       name_of(kind.outcome.kind), escaped(to_text(kind.outcome)), escaped(text));
}

}  // namespace

std::string as_junit(const Options& options, const Findings& findings) {
    std::string cases;
    std::size_t failed = 0;
    double seconds = 0;
    for (const Result& result : findings.results) {
        const Finding* const kind = kind_of(findings, result.seed);
        failed += kind ? 1 : 0;
        seconds += result.seconds;
        cases += fmt::format(
            "  <testcase classname=\"softverbs.explore\" name=\"seed {}\" time=\"{:.3f}\">{}"
            "</testcase>\n",
            result.seed, result.seconds, kind ? failure(*kind) : "");
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\">\n"
        "{}</testsuite>\n",
        escaped(for_shell(options.command)), findings.results.size(), failed, seconds, cases);
}

}  // namespace softverbs::explore
