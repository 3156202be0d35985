// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/finding.hpp"

#include <algorithm>

#include "tools/common/terminal.hpp"

namespace info {
namespace {

using support::Standing;

constexpr std::size_t kSubjectWidth = 20;
constexpr int kDegradedStatus = 3;

void take(void* listener, const support::Fact& fact) {
    static_cast<KnownFacts*>(listener)->push_back(
        {fact.subject, fact.value, fact.source, fact.standing, fact.note});
}

std::string padded(std::string text) {
    text.resize(std::max(text.size() + 1, kSubjectWidth), ' ');
    return text;
}

tools::Colour colour_of(Standing standing) {
    switch (standing) {
        case Standing::kFails:
            return tools::Colour::kBad;
        case Standing::kDegraded:
            return tools::Colour::kWarning;
        case Standing::kWorks:
            break;
    }
    return tools::Colour::kHeading;
}

}  // namespace

support::FactSink collect_into(KnownFacts& facts) {
    return {take, &facts};
}

Standing verdict_of(const KnownFacts& facts) {
    Standing worst = Standing::kWorks;
    for (const KnownFact& fact : facts) worst = std::max(worst, fact.standing);
    return worst;
}

const char* to_text(Standing standing) {
    switch (standing) {
        case Standing::kFails:
            return "fails";
        case Standing::kDegraded:
            return "degraded";
        case Standing::kWorks:
            break;
    }
    return "works";
}

std::string to_sentence(const std::string& ia_name, Standing verdict) {
    const char* text = verdict == Standing::kFails      ? "would fail"
                       : verdict == Standing::kDegraded ? "would work, but degraded"
                                                        : "would work";
    return tools::coloured(stdout, colour_of(verdict), ia_name + " " + text) + '\n';
}

int exit_status_of(Standing standing) {
    if (standing == Standing::kFails) return 1;
    return standing == Standing::kDegraded ? kDegradedStatus : 0;
}

std::string to_table(const KnownFacts& facts) {
    std::string table;
    for (const KnownFact& fact : facts) {
        table += tools::coloured(stdout, colour_of(fact.standing), padded(fact.subject));
        table +=
            fact.value + tools::coloured(stdout, tools::Colour::kFaint, "  [" + fact.source + "]");
        if (fact.standing != Standing::kWorks)
            table += std::string("  ") + (fact.standing == Standing::kFails ? "FAILS" : "DEGRADED");
        table += '\n';
        if (!fact.note.empty()) table += padded("") + fact.note + '\n';
    }
    return table;
}

tools::Json to_json(const KnownFacts& facts) {
    tools::Json all = tools::Json::array();
    for (const KnownFact& fact : facts) {
        tools::Json one = tools::Json::object();
        one.put("subject", fact.subject)
            .put("value", fact.value)
            .put("source", fact.source)
            .put("standing", to_text(fact.standing))
            .put("note", fact.note);
        all.add(std::move(one));
    }
    return all;
}

}  // namespace info
