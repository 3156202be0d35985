// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/request_faults.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "providers/soft/softverbs/faults/time_scale.hpp"

namespace softverbs::faults {
namespace {

bool concerns(const Rule& rule, const RequestFaults::Place& place) {
    if ((rule.group() & (kRequest | kPost)) == 0) return false;
    if ((rule.subject == Subject::kPostRecv) != place.receives) return false;
    if ((rule.types & rule.what().types & place.type) == 0) return false;
    if (rule.queue_pair != 0 && rule.queue_pair != place.queue_pair) return false;
    if (rule.device && *rule.device != place.device) return false;
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
                                                   const Place& place) {
    if (!plan) return nullptr;
    std::unique_ptr<RequestFaults> made(new RequestFaults(std::move(plan), place));
    for (const Rule& rule : made->plan_->rules)
        if (faults::concerns(rule, place))
            made->triggers_.emplace_back(*made->plan_, rule, place.queue_pair);
    return made->triggers_.empty() ? nullptr : std::move(made);
}

/// What is under way and no rule asks for any more ends.
void RequestFaults::go_on(const RequestFaults& before) {
    for (Trigger& trigger : triggers_) {
        for (const Trigger& old : before.triggers_) {
            if (old.rule() != trigger.rule()) continue;
            trigger.go_on(old);
            if (before.decided_ == &old.rule()) decided_ = &trigger.rule();
        }
    }
    is_decided_ = before.is_decided_;
    position_ = before.position_;
    if (!decided_) return;
    release_ = before.release_;
    free_ = before.free_;
    silent_until_ = before.silent_until_;
    not_ready_until_ = before.not_ready_until_;
}

bool RequestFaults::concerns(Group group) const {
    return std::any_of(triggers_.begin(), triggers_.end(),
                       [&](const Trigger& trigger) { return trigger.rule().group() == group; });
}

/// Each rule counts the request; the first that applies decides.
const Rule* RequestFaults::of_request(Subject operation, std::uint64_t size, std::uint32_t position,
                                      std::uint32_t peer) {
    if (is_decided_ && position == position_) return decided_;
    is_decided_ = true;
    position_ = position;
    decided_ = nullptr;
    for (Trigger& trigger : triggers_) {
        if (!faults::concerns(trigger.rule(), operation, size) || !trigger.next() || decided_)
            continue;
        decided_ = &trigger.rule();
        log(trigger, peer);
        begin(*decided_, size);
    }
    return decided_;
}

int RequestFaults::of_post() {
    int error = 0;
    for (Trigger& trigger : triggers_) {
        if (trigger.rule().group() != kPost || !trigger.next() || error != 0) continue;
        error = trigger.rule().error;
        log(trigger, 0);
    }
    return error;
}

/// Begins what takes time.
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
