// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/settings.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "support/base/guard.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace check {
namespace {

using support::Setting;

template <class Value>
struct Word {
    std::string_view text;
    Value value;
};
constexpr Word<unsigned> kChecks[] = {
    {"off", 0},          {"on", kAllChecks}, {"memory", kMemory}, {"buffers", kBuffers},
    {"queues", kQueues}, {"order", kOrder},  {"life", kLife},     {"portability", kPortability},
    {"audit", kAudit}};
constexpr Word<Action> kActions[] = {
    {"report", Action::kReport}, {"fail", Action::kFail}, {"abort", Action::kAbort}};

template <class Value, std::size_t count>
const Value* find(const Word<Value> (&words)[count], std::string_view text) {
    for (const Word<Value>& word : words)
        if (word.text == text) return &word.value;
    return nullptr;
}

void tell_bad(Setting setting, std::string_view ia_name, std::string_view text, const char* known,
              const char* used) {
    static std::atomic<bool> told{false};
    support::report_once(told, [&] {
        support::report<support::kBadSettingValue>(support::setting_label(setting, ia_name),
                                                   std::string(text), known, used);
    });
}

unsigned checks_of(Setting setting, std::string_view ia_name) {
    const std::string all = support::setting_text(setting, ia_name);
    unsigned checks = 0;
    for (std::string_view rest = all; !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        if (const unsigned* known = find(kChecks, word))
            checks |= *known;
        else
            tell_bad(setting, ia_name, word,
                     "off, on, memory, buffers, queues, order, life, portability or audit",
                     "the other checks");
    }
    return checks;
}

}  // namespace

Policy policy_of(Setting checks, std::string_view ia_name, const Words& words) {
    Policy policy;
    policy.words = &words;
    policy.checks = checks_of(checks, ia_name);
    if (policy.checks == 0) return policy;
    const std::string action = support::setting_text(Setting::kCheckAction, ia_name);
    if (const Action* known = find(kActions, action))
        policy.action = *known;
    else
        tell_bad(Setting::kCheckAction, ia_name, action, "report, fail or abort", "report");
    return policy;
}

}  // namespace check
