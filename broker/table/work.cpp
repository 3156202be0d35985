// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Broker::work(): one round of looking after the table.
#include <algorithm>

#include "broker/table/fault_points.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

/// Interval of the heartbeat while the holder is needed, in ns; well below the timeout of the
/// others (lease.cpp).
constexpr Time kBeat = 20'000'000;
/// Interval at which a process without the lease checks that somebody holds it, while the table is
/// busy, in ns.
constexpr Time kLook = 50'000'000;

void forget_orphans(State& state) {
    support::PageVector<Ticket> orphans;
    {
        const support::MutexLock guard(state.orphans_mutex);
        if (state.orphans.empty()) return;
        orphans.swap(state.orphans);
    }
    if (!state.lock.acquire()) {
        const support::MutexLock guard(state.orphans_mutex);
        state.orphans.insert(state.orphans.end(), orphans.begin(), orphans.end());
        return;
    }
    const TableGuard guard(state.lock, TableGuard::kTaken);
    for (const Ticket& ticket : orphans)
        if (auto result = outcome(state, ticket, true); result && *result)
            free_slot(state.table, (*result)->index);
}

/// Has the device end what is overdue. @return what has certainly ended.
support::PageVector<Overdue> enforce(const State& state, support::PageVector<Overdue> late) {
    const Enforce end = state.enforce.load(std::memory_order_acquire);
    if (!end || late.empty()) return {};
    void* const context = state.enforce_context.load(std::memory_order_relaxed);
    std::erase_if(late, [&](const Overdue& one) { return !end(context, one.pid, one.key); });
    if (!late.empty()) fault_point(FaultPoint::kEnforced);
    return late;
}

/// Stops counting ended registrations as entries; their slots stay until the owners know.
void mark_ended(State& state, const support::PageVector<Overdue>& ended) REQUIRES(state.lock) {
    for (const Overdue& one : ended) {
        const SlotRecord& slot = state.table.slots[one.slot.index];
        if (slot.generation != one.slot.generation || slot.ended ||
            state.table.state(one.slot.index) == SlotState::kFree)
            continue;
        change_slot(state.table, one.slot.index,
                    [](SlotRecord& record, SlotUse&) { record.ended = 1; });
    }
}

Time next_round(const State& state, Time time) REQUIRES(state.lock) {
    const Table& table = state.table;
    if (!is_busy(state)) return kNever;
    Time next = std::min(time + kBeat, table.header->refusals_end);
    table.leaving().each([&](std::uint32_t slot) {
        const Time deadline = table.uses[slot].deadline.load(std::memory_order_relaxed);
        if (deadline > time) next = std::min(next, deadline);
    });
    return next;
}

Time decide(State& state, Time time) REQUIRES(state.lock) {
    end_refusals(state, time);
    revoke_what_is_due(state, time);
    serve(state);
    const Time again = reap(state, time);
    return std::min(again, next_round(state, time));
}

}  // namespace

Time Broker::work() {
    State& state = *state_;
    if (!state.is_here()) return kNever;
    forget_orphans(state);
    load_policy(state);
    const Time time = now();
    bool leads = false, is_new = false, busy = false, collects = false;
    if (!state.lock.acquire()) return time + kLook;
    {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        busy = is_busy(state);
        is_new = !is_leader(state);
        leads = hold_lease(state, time);
        collects = is_collection_due(state, time);
    }
    if (collects) collect(state);
    if (busy || (leads && is_new)) reclaim_dead(state);
    const Time consult = InPlaceOfAgent::is_here() ? kNever : consult_daemon(state, time);
    if (!leads && !busy) return consult;
    support::PageVector<Overdue> late;
    Time next = std::min(consult, time + kLook);
    if (!state.lock.acquire()) return next;
    {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        if (leads && is_leader(state)) next = std::min(consult, decide(state, time));
        late = overdue(state, time);
    }
    const support::PageVector<Overdue> ended = enforce(state, std::move(late));
    if (ended.empty() || !state.lock.acquire()) return next;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    mark_ended(state, ended);
    if (is_leader(state))
        serve(state);
    else
        ring_leader(state);
    return std::min(next, time + kLook);
}

}  // namespace dapl::memory
