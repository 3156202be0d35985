// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/plan.hpp"

#include <errno.h>
#include <fnmatch.h>

#include <algorithm>

#include "providers/soft/softverbs/faults/rule_text.hpp"
#include "providers/soft/softverbs/faults/time_scale.hpp"
#include "support/settings/environment.hpp"

namespace softverbs::faults {
namespace {

/// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

bool is_spelt(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '+' || c == '-';
}

std::string spelt(std::string_view name) {
    std::string text(name);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return !is_spelt(c); }, '?');
    return text;
}

/// @return the rule without its conditions, for this process and queue pair alone.
Rule as_logged(const Identity& identity, const Rule& rule, std::uint32_t queue_pair) {
    Rule logged = rule;
    logged.program = identity.program;
    logged.rank = identity.rank;
    logged.queue_pair = queue_pair;
    logged.nth = logged.every = logged.from = logged.to = logged.times = 0;
    logged.probability = 1;
    logged.after = logged.before = Duration::zero();
    return logged;
}

/// @param pattern "": any. @param rank "": any.
bool is_one(const Identity& identity, const std::string& pattern, const std::string& rank) {
    const bool has_name =
        pattern.empty() || fnmatch(pattern.c_str(), identity.program.c_str(), 0) == 0;
    return has_name && (rank.empty() || rank == identity.rank);
}

}  // namespace

Identity Identity::of_process() {
    return made_safe(program_invocation_short_name, support::rank_in_job());
}

Identity Identity::made_safe(std::string_view program, std::string_view rank) {
    return {spelt(program), spelt(rank)};
}

bool is_about(const Rule& rule, const Identity* peer) {
    return !rule.names_peer() || (peer && is_one(*peer, rule.peer, rule.peer_rank));
}

std::vector<Rule> Plan::concerning(const Identity& identity, std::vector<Rule> rules) {
    std::erase_if(rules,
                  [&](const Rule& rule) { return !is_one(identity, rule.program, rule.rank); });
    return rules;
}

Trigger::Trigger(const Plan& plan, const Rule& rule, std::uint32_t queue_pair)
    : plan_(&plan), rule_(&rule) {
    const std::uint64_t who =
        mixed(hash_of(plan.identity.program + '\0' + plan.identity.rank) ^ mixed(queue_pair));
    key_ = mixed(plan.seed ^ mixed(hash_of(to_text(rule)) ^ who));
    const std::string line = to_text(as_logged(plan.identity, rule, queue_pair));
    const std::size_t arrow = line.find(" -> ");
    line_begin_ = line.substr(0, arrow) + (rule.is_unconditional() ? "" : " nth=");
    line_end_ = line.substr(arrow);
}

void Trigger::log(std::string_view remark) const {
    const bool is_numbered = !rule_->is_unconditional();
    if (is_numbered || applied_ == 1)
        plan_->log->write(line_begin_, is_numbered ? count_ : 0, line_end_, remark);
}

bool Trigger::next() {
    ++count_;
    if (!is_due()) return false;
    ++applied_;
    return true;
}

bool Trigger::is_due() const {
    const Rule& rule = *rule_;
    if (rule.nth != 0 && count_ != rule.nth) return false;
    if (rule.every != 0 && count_ % rule.every != 0) return false;
    if (count_ < rule.from || (rule.to != 0 && count_ > rule.to)) return false;
    if (rule.times != 0 && applied_ >= rule.times) return false;
    if (rule.probability < 1) {
        constexpr double kUnit = 1.0 / (std::uint64_t{1} << 53);
        const double drawn = static_cast<double>(mixed(key_ + count_) >> 11) * kUnit;
        if (drawn >= rule.probability) return false;
    }
    if (rule.after != Duration::zero() && plan_->age() < scaled(rule.after)) return false;
    return rule.before == Duration::zero() || plan_->age() < scaled(rule.before);
}

}  // namespace softverbs::faults
