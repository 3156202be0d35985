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

bool concerns(const Rule& rule, Subject subject, const About& about) {
    const bool is_meant = rule.subject == subject ||
                          (rule.subject == Subject::kAnyMessage && group_of(subject) == kMessage);
    return is_meant && (!rule.event || rule.event == about.event) &&
           (rule.service == 0 || rule.service == about.service) && is_about(rule, about.peer);
}

std::vector<Trigger> process_triggers(const Plan& plan) {
    std::vector<Trigger> triggers;
    for (const Rule& rule : plan.rules)
        if ((rule.group() & (kCall | kStep | kConnect | kMessage | kEvent)) != 0)
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
    fabric_text_ = read_fabric_file();
    set(reported(parse_rules(fabric_text_), fabric_file()).value_or(std::vector<Rule>()));
    return 0;
}

bool Faults::look_again() {
    std::string text = read_fabric_file();
    if (text == fabric_text_) return false;
    const auto rules = reported(parse_rules(text), fabric_file());
    if (rules) set(*rules);
    fabric_text_ = std::move(text);
    return rules.has_value();
}

std::string Faults::read_fabric_file() const {
    return support::read_text_file(fabric_file(), kMostText).value_or(std::string());
}

/// @return nullptr if no rule concerns this process.
std::shared_ptr<const Plan> Faults::make_plan(const std::vector<Rule>& fabric_rules) const {
    std::vector<Rule> rules = own_rules_;
    rules.insert(rules.end(), fabric_rules.begin(), fabric_rules.end());
    auto plan = std::make_shared<Plan>();
    plan->identity = Identity::of_process();
    plan->rules = Plan::concerning(plan->identity, std::move(rules));
    if (plan->rules.empty()) return nullptr;
    plan->seed = static_cast<std::uint64_t>(
        support::setting_integer(support::Setting::kSoftverbsFaultsSeed));
    plan->opened = opened_;
    const std::string log = support::setting_text(support::Setting::kSoftverbsFaultsLog);
    const std::string path = log.empty() ? fabric_ + '/' + kLogFile : log;
    plan->log = std::make_shared<FaultLog>(path);
    support::report<support::kFaultsInForce>(plan->rules.size(), plan->seed, path);
    return plan;
}

void Faults::set(const std::vector<Rule>& fabric_rules) {
    std::shared_ptr<const Plan> plan = make_plan(fabric_rules);
    std::vector<Trigger> triggers = plan ? process_triggers(*plan) : std::vector<Trigger>();
    has_rules_.store(!triggers.empty(), std::memory_order_relaxed);
    support::MutexLock lock(mutex_);
    for (Trigger& trigger : triggers)
        for (const Trigger& before : triggers_)
            if (before.rule() == trigger.rule()) trigger.go_on(before);
    triggers_.swap(triggers);
    plan_.swap(plan);
}

std::shared_ptr<const Plan> Faults::plan() const {
    support::MutexLock lock(mutex_);
    return plan_;
}

/// The rule is a part of its plan, and keeps that alive.
std::shared_ptr<const Rule> Faults::look_up(Subject subject, const About& about) {
    char remark[32];
    const auto end = fmt::format_to_n(remark, sizeof remark, "pid {}", getpid()).out;
    support::MutexLock lock(mutex_);
    const Trigger* const found =
        count_in(triggers_, [&](const Rule& rule) { return concerns(rule, subject, about); });
    if (!found) return nullptr;
    found->log({remark, static_cast<std::size_t>(end - remark)});
    return {plan_, &found->rule()};
}

}  // namespace softverbs::faults
