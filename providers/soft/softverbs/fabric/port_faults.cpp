// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/port_faults.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <vector>

#include "providers/soft/softverbs/faults/rule_text.hpp"
#include "providers/soft/softverbs/faults/time_scale.hpp"

namespace softverbs {
namespace {

/// @return the ports that the rule is about, as bits of DeviceStates::down.
std::uint32_t ports_of(const faults::Rule& rule) {
    std::uint32_t bits = 0;
    for (unsigned index = 0; index < kMostPortIds; ++index) {
        const PortId id = PortId::at(index);
        const bool is_meant =
            (!rule.device || *rule.device == id.device) && (rule.port == 0 || rule.port == id.port);
        bits |= std::uint32_t{is_meant} << index;
    }
    return bits;
}

}  // namespace

struct PortFaults::Following {
    std::shared_ptr<const faults::Plan> plan;
    std::vector<bool> are_down;  ///< by the number of the rule in the plan
};

void PortFaults::follow(std::shared_ptr<const faults::Plan> plan) {
    auto next = std::make_shared<Following>();
    if (plan) next->are_down.resize(plan->rules.size());
    next->plan = std::move(plan);
    following_ = next;
    for (std::size_t number = 0; number < next->are_down.size(); ++number) {
        const faults::Rule& rule = next->plan->rules[number];
        if (rule.group() != faults::kState) continue;
        const Deadline begin = next->plan->opened + scaled(rule.after);
        if (begin <= Clock::now())
            change(next, number, true);
        else
            at(begin, next, number, true);
    }
    merge();
}

void PortFaults::at(Deadline when, const std::shared_ptr<Following>& following, std::size_t number,
                    bool is_down) {
    service_.at(when, [this, following, number, is_down] {
        if (following != following_) return;
        change(following, number, is_down);
        merge();
    });
}

/// Notes that a rule takes or gives back its links, and sets the timer for what comes next.
void PortFaults::change(const std::shared_ptr<Following>& following, std::size_t number,
                        bool is_down) {
    const faults::Plan& plan = *following->plan;
    const faults::Rule& rule = plan.rules[number];
    const Deadline now = Clock::now();
    if (is_down && rule.duration != faults::Duration::zero())
        at(now + scaled(rule.duration), following, number, false);
    if (!is_down && rule.period != faults::Duration::zero())
        at(now + scaled(rule.period - rule.duration), following, number, true);
    following->are_down[number] = is_down;
    if (is_down) plan.log->write(faults::to_text(rule), 0, "", fmt::format("pid {}", getpid()));
}

/// Adds up what the rules ask for.
void PortFaults::merge() {
    std::uint32_t down = 0;
    for (std::size_t number = 0; number < following_->are_down.size(); ++number)
        if (following_->are_down[number]) down |= ports_of(following_->plan->rules[number]);
    if (std::exchange(down_, down) != down) changed_();
}

}  // namespace softverbs
