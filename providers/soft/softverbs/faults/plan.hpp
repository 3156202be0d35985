// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fault rules that concern this process, and when each applies. A decision depends on the
/// seed, the rule, who asks and how often it has asked: never on time, addresses or process
/// numbers. So the same seed gives the same decisions, whatever the scheduling.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "providers/soft/softverbs/faults/fault_log.hpp"
#include "providers/soft/softverbs/faults/rule.hpp"

namespace softverbs::faults {

/// A process, as each run of a job has it again.
struct Identity {
    std::string program;  ///< its name, with '?' for what rules cannot spell
    std::string rank;     ///< "" outside a job

    static Identity of_process();
    /// Describes another process, which may have written anything.
    static Identity made_safe(std::string_view program, std::string_view rank);
};

/// Whether the rule concerns what is done with this process at the other end.
/// @param peer nullptr: none, or an unknown one.
bool is_about(const Rule& rule, const Identity* peer);

/// Immutable, so that queue pairs and calls read it without a lock.
struct Plan {
    std::vector<Rule> rules;  ///< those that concern this process
    std::uint64_t seed = 0;
    Identity identity;
    std::chrono::steady_clock::time_point opened;  ///< when the process opened the device
    std::shared_ptr<FaultLog> log;

    /// @return how long the process has had the device open.
    Duration age() const { return std::chrono::steady_clock::now() - opened; }
    /// @return the rules of which `identity` is the program and the rank.
    static std::vector<Rule> concerning(const Identity& identity, std::vector<Rule> rules);
};

/// Counts what matches one rule, and decides when the rule applies.
class Trigger {
  public:
    /// @param plan lives as long as the trigger, with the rule, which is one of its rules.
    /// @param queue_pair its number in the process; 0 for calls.
    Trigger(const Plan& plan, const Rule& rule, std::uint32_t queue_pair);

    /// Counts one more. @return whether the rule applies to it.
    bool next();
    /// Logs that the rule has been applied to the last one. A rule without conditions is logged
    /// once. Allocates nothing.
    void log(std::string_view remark) const;
    const Rule& rule() const { return *rule_; }
    std::uint64_t count() const { return count_; }
    std::uint64_t applied() const { return applied_; }
    /// Goes on where the same rule's trigger before it was.
    void go_on(const Trigger& before) {
        count_ = before.count_;
        applied_ = before.applied_;
    }

  private:
    bool is_due() const;

    const Plan* plan_;
    const Rule* rule_;
    /// The line in the log, in two parts: the number comes between them.
    std::string line_begin_, line_end_;
    std::uint64_t key_;
    std::uint64_t count_ = 0;
    std::uint64_t applied_ = 0;
};

/// Counts one more with each trigger whose rule `matches`. @return the first of those whose rules
/// apply to it, which decides, or nullptr.
template <class Matches>
Trigger* count_in(std::vector<Trigger>& triggers, const Matches& matches) {
    Trigger* first = nullptr;
    for (Trigger& trigger : triggers)
        if (matches(trigger.rule()) && trigger.next() && !first) first = &trigger;
    return first;
}

/// @return a number that all bits of `value` decide (the finaliser of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

}  // namespace softverbs::faults
