// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/faults.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "providers/soft/softverbs/faults/rule_files.hpp"
#include "providers/soft/softverbs/faults/time_scale.hpp"
#include "support/base/text_file.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace softverbs::faults {
namespace {

using Rules = tl::expected<std::vector<Rule>, int>;

/// @param name of the setting or file, for messages.
Rules reported(tl::expected<std::vector<Rule>, std::string> rules, const std::string& name) {
    if (rules) return std::move(*rules);
    support::report<support::kBadFaultRules>(name, rules.error());
    return tl::unexpected(EINVAL);
}

/// @return the rules that SOFTVERBS_FAULTS holds or, behind an '@', names.
Rules own_rules() {
    const std::string setting = support::setting_text(support::Setting::kSoftverbsFaults);
    if (setting.empty() || setting[0] != '@')
        return reported(parse_rules(setting), "SOFTVERBS_FAULTS");
    const std::string path = setting.substr(1);
    return reported(read_rules_file(path), path);
}

std::vector<Trigger> process_triggers(const Plan& plan) {
    std::vector<Trigger> triggers;
    for (const Rule& rule : plan.rules)
        if ((rule.group() & (kCall | kStep | kConnect | kMessage)) != 0)
            triggers.emplace_back(plan, rule, 0);
    return triggers;
}

}  // namespace

int Faults::open(const std::string& fabric) {
    fabric_ = fabric;
    opened_ = std::chrono::steady_clock::now();
    set_time_scale();
    auto rules = own_rules();
    if (!rules) return rules.error();
    own_rules_ = std::move(*rules);
    set({});
    look_again();
    return 0;
}

bool Faults::look_again() {
    auto text = support::read_text_file(fabric_ + '/' + kRulesFile, kMostText);
    std::string rules = text ? std::move(*text) : std::string();
    return rules != fabric_rules_ && set(std::move(rules));
}

bool Faults::set(std::string fabric_rules) {
    auto added = reported(parse_rules(fabric_rules), fabric_ + '/' + kRulesFile);
    if (!added) return false;
    std::vector<Rule> rules = own_rules_;
    rules.insert(rules.end(), added->begin(), added->end());
    auto next = std::make_shared<Plan>();
    next->identity = Identity::of_process();
    next->rules = Plan::concerning(next->identity, std::move(rules));
    next->seed = static_cast<std::uint64_t>(
        support::setting_integer(support::Setting::kSoftverbsFaultsSeed));
    next->opened = opened_;
    if (!next->rules.empty()) {
        const std::string log = support::setting_text(support::Setting::kSoftverbsFaultsLog);
        const std::string path = log.empty() ? fabric_ + '/' + kLogFile : log;
        next->log = std::make_shared<FaultLog>(path);
        support::report<support::kFaultsInForce>(next->rules.size(), next->seed, path);
    }
    fabric_rules_ = std::move(fabric_rules);
    std::vector<Trigger> triggers = process_triggers(*next);
    has_rules_.store(!triggers.empty(), std::memory_order_relaxed);
    std::shared_ptr<const Plan> plan = next->rules.empty() ? nullptr : std::move(next);
    support::MutexLock lock(mutex_);
    for (Trigger& trigger : triggers)
        for (const Trigger& before : triggers_)
            if (before.rule() == trigger.rule()) trigger.go_on(before);
    triggers_.swap(triggers);
    plan_.swap(plan);
    return true;
}

std::shared_ptr<const Plan> Faults::plan() const {
    support::MutexLock lock(mutex_);
    return plan_;
}

/// Each rule counts it; the first that applies decides. The rule is a part of its plan, and keeps
/// that alive.
std::shared_ptr<const Rule> Faults::look_up(Subject subject) {
    char remark[32];
    const auto end = fmt::format_to_n(remark, sizeof remark, "pid {}", getpid()).out;
    const Rule* found = nullptr;
    support::MutexLock lock(mutex_);
    for (Trigger& trigger : triggers_) {
        if (trigger.rule().subject != subject || !trigger.next() || found) continue;
        found = &trigger.rule();
        trigger.log({remark, static_cast<std::size_t>(end - remark)});
    }
    return found ? std::shared_ptr<const Rule>(plan_, found) : nullptr;
}

}  // namespace softverbs::faults
