// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/request_faults.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "providers/soft/softverbs/faults/time_scale.hpp"

namespace softverbs::faults {
namespace {

bool concerns(const Rule& rule, const RequestFaults::Place& place, const Identity* peer) {
    if ((rule.group() & (kRequest | kPost)) == 0) return false;
    if ((rule.subject == Subject::kPostRecv) != place.receives) return false;
    if ((rule.types & rule.what().types & place.type) == 0) return false;
    if (rule.queue_pair != 0 && rule.queue_pair != place.queue_pair) return false;
    if (rule.device && *rule.device != place.device) return false;
    if (rule.service != 0 && rule.service != place.service) return false;
    if (place.type != kUd && !is_about(rule, peer)) return false;
    return rule.port == 0 || rule.port == place.port;
}

bool concerns(const Rule& rule, Subject operation, std::uint64_t size) {
    return (rule.subject == operation || rule.subject == Subject::kAnyRequest) &&
           size >= rule.smallest && size <= rule.largest;
}

RequestFaults::Clock::time_point end_of(const Rule& rule) {
    using Clock = RequestFaults::Clock;
    return rule.duration == Duration::zero() ? Clock::time_point::max()
                                             : Clock::now() + scaled(rule.duration);
}

}  // namespace

std::unique_ptr<RequestFaults> RequestFaults::make(std::shared_ptr<const Plan> plan,
                                                   const Place& place, const Identity* peer) {
    if (!plan) return nullptr;
    std::unique_ptr<RequestFaults> made(new RequestFaults(std::move(plan), place));
    for (const Rule& rule : made->plan_->rules)
        if (faults::concerns(rule, place, peer)) {
            made->triggers_.emplace_back(*made->plan_, rule, place.queue_pair);
            made->needs_peer_ |= place.type == kUd && rule.names_peer();
            made->reorders_ |= rule.action == Action::kReorder;
        }
    return made->triggers_.empty() ? nullptr : std::move(made);
}

/// Delays and silence end when no rule asks for them any more.
void RequestFaults::go_on(const RequestFaults& before) {
    for (Trigger& trigger : triggers_) {
        for (const Trigger& old : before.triggers_) {
            if (old.rule() != trigger.rule()) continue;
            trigger.go_on(old);
            if (before.decided_ == &old.rule()) decided_ = &trigger.rule();
            if (before.silent_by_ == &old.rule()) silent_by_ = &trigger.rule();
        }
    }
    is_decided_ = before.is_decided_;
    position_ = before.position_;
    if (!decided_) return;
    release_ = before.release_;
    free_ = before.free_;
    if (silent_by_) silent_until_ = before.silent_until_;
    not_ready_until_ = before.not_ready_until_;
}

const Rule* RequestFaults::of_request(Subject operation, std::uint64_t size, std::uint32_t position,
                                      std::uint32_t qp_num, const Identity* peer) {
    if (is_decided_ && position == position_) return decided_;
    is_decided_ = true;
    position_ = position;
    const Trigger* const found = count_in(triggers_, [&](const Rule& rule) {
        return faults::concerns(rule, operation, size) && (!needs_peer_ || is_about(rule, peer));
    });
    decided_ = found ? &found->rule() : nullptr;
    if (!found) return nullptr;
    log(*found, qp_num);
    begin(*decided_, size);
    return decided_;
}

int RequestFaults::of_post() {
    const Trigger* const found =
        count_in(triggers_, [](const Rule& rule) { return rule.group() == kPost; });
    if (!found) return 0;
    log(*found, 0);
    return found->rule().error;
}

/// Begins the wait that the rule asks for, if any.
void RequestFaults::begin(const Rule& rule, std::uint64_t size) {
    switch (rule.action) {
        case Action::kDelay:
            release_ = Clock::now() + scaled(rule.duration);
            break;
        case Action::kBandwidth: {
            const double seconds = static_cast<double>(size) / static_cast<double>(rule.rate);
            free_ = std::max(free_, Clock::now()) + scaled(std::chrono::duration_cast<Duration>(
                                                        std::chrono::duration<double>(seconds)));
            release_ = free_;
            break;
        }
        case Action::kSilence:
            silent_by_ = &rule;
            silent_until_ = end_of(rule);
            break;
        case Action::kNotReady:
            not_ready_until_ = end_of(rule);
            break;
        default:
            break;
    }
}

void RequestFaults::log(const Trigger& trigger, std::uint32_t peer) const {
    char remark[96];
    const auto end =
        peer == 0 ? fmt::format_to_n(remark, sizeof remark, "pid {}, soft{} QP {:#08x}", getpid(),
                                     place_.device, place_.number)
                  : fmt::format_to_n(remark, sizeof remark, "pid {}, soft{} QP {:#08x} to {:#08x}",
                                     getpid(), place_.device, place_.number, peer);
    trigger.log({remark, static_cast<std::size_t>(end.out - remark)});
}

}  // namespace softverbs::faults
