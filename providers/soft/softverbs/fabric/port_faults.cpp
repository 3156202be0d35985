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

bool is_event(const faults::Rule& rule) {
    return rule.what().argument == faults::Argument::kEvery;
}

/// An event comes for the first time when somebody can have heard of it.
Deadline begin_of(const faults::Plan& plan, const faults::Rule& rule) {
    const bool is_first = is_event(rule) && rule.after == faults::Duration::zero();
    return plan.opened + scaled(is_first ? rule.period : rule.after);
}

void add(DeviceStates& states, const faults::Rule& rule) {
    for (unsigned device = 0; device < kMostDevices; ++device)
        if (rule.action == faults::Action::kFatal && (!rule.device || *rule.device == device))
            states.set_removed(device, true);
    if (rule.action == faults::Action::kDown) states.down |= ports_of(rule);
}

}  // namespace

struct PortFaults::Following {
    struct State {
        bool has_begun = false;
        bool is_on = false;
        Deadline next{};          ///< when it changes next, if it does
        bool begins_next = true;  ///< whether it goes on then, or off
    };

    /// @return where a rule that was followed before is, or nullptr.
    const State* find(const faults::Rule& rule) const {
        for (std::size_t number = 0; number < states.size(); ++number)
            if (plan->rules[number] == rule) return &states[number];
        return nullptr;
    }

    std::shared_ptr<const faults::Plan> plan;
    std::vector<State> states;  ///< by the number of the rule in the plan
};

/// Rules that were followed before go on where they are.
void PortFaults::follow(std::shared_ptr<const faults::Plan> plan) {
    auto next = std::make_shared<Following>();
    if (plan) next->states.resize(plan->rules.size());
    next->plan = std::move(plan);
    for (std::size_t number = 0; number < next->states.size(); ++number) {
        const faults::Rule& rule = next->plan->rules[number];
        if ((rule.group() & faults::kByClock) == 0) continue;
        Following::State& state = next->states[number];
        const Following::State* const before = following_ ? following_->find(rule) : nullptr;
        if (before) state = *before;
        if (!before) state.next = begin_of(*next->plan, rule);
        if (!state.has_begun && state.next <= Clock::now())
            change(next, number, true);
        else if (state.next != Deadline{})
            at(state.next, next, number, state.begins_next);
    }
    following_ = next;
    merge();
}

void PortFaults::at(Deadline when, const std::shared_ptr<Following>& following, std::size_t number,
                    bool begins) {
    following->states[number].next = when;
    following->states[number].begins_next = begins;
    service_.at(when, [this, following, number, begins] {
        if (following != following_) return;
        change(following, number, begins);
        merge();
    });
}

/// Notes that a rule begins or ends to change states, or tells its event, and sets the timer for
/// what comes next.
void PortFaults::change(const std::shared_ptr<Following>& following, std::size_t number,
                        bool begins) {
    const faults::Plan& plan = *following->plan;
    const faults::Rule& rule = plan.rules[number];
    const Deadline now = Clock::now();
    const bool is_over = !begins || is_event(rule);
    Following::State& state = following->states[number];
    state.has_begun = true;
    state.is_on = begins;
    state.next = {};
    if (begins && rule.duration != faults::Duration::zero())
        at(now + scaled(rule.duration), following, number, false);
    if (is_over && rule.period != faults::Duration::zero())
        at(now + scaled(rule.period - rule.duration), following, number, true);
    if (begins) plan.log->write(faults::to_text(rule), 0, "", fmt::format("pid {}", getpid()));
    if (is_event(rule)) happened_(rule.action, ports_of(rule));
}

/// Adds up what the rules ask for.
void PortFaults::merge() {
    DeviceStates states;
    for (std::size_t number = 0; number < following_->states.size(); ++number)
        if (following_->states[number].is_on) add(states, following_->plan->rules[number]);
    if (std::exchange(states_, states) != states) changed_();
}

}  // namespace softverbs
