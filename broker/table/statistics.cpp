// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Statistics of uses that devices count. Each process reads its own device's counts when somebody
/// has to decide whose registration is taken back; nobody waits long for one that does not.
#include <algorithm>

#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

/// Statistics that are older than this, in ns, are not good enough for a decision.
constexpr Time kFresh = 2'000'000;
/// A decision waits so long for a process that has been asked, in ns.
constexpr Time kPatience = 2'000'000;
/// A process that has not answered is asked again after this time, in ns, so that one that is
/// stopped does not delay each decision.
constexpr Time kPause = 200'000'000;

}  // namespace

void Broker::set_collection(Collect collect, void* context) {
    state_->collect_context.store(context, std::memory_order_relaxed);
    state_->collect.store(collect, std::memory_order_release);
}

bool is_collection_due(const State& state, Time time) {
    const ProcessRow& row = state.row();
    if (row.sums.counted_entries == 0) return false;
    return row.asked > row.collected || since(time, row.collected) >= kFresh;
}

void collect(State& state) {
    const Collect collect = state.collect.load(std::memory_order_acquire);
    if (!collect) return;
    collect(state.collect_context.load(std::memory_order_relaxed));
    if (!state.lock.acquire()) return;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    const bool is_asked = state.row().asked > state.row().collected;
    state.row().collected = now();
    if (is_asked) ring_leader(state);
}

Time await_statistics(State& state, Time time) {
    const Table& table = state.table;
    Time until = 0;
    for (std::uint32_t i = 0; i < table.rows(); ++i) {
        ProcessRow& row = table.processes[i];
        if (i == state.process || !table.is_live(i) || row.sums.counted_entries == 0) continue;
        if (since(time, row.collected) < kFresh) continue;
        const Time waited = since(time, row.asked);
        if (row.asked <= row.collected || waited > kPause) {
            row.asked = time;
            ring(state, i);
        } else if (waited >= kPatience) {
            continue;
        }
        until = std::max(until, row.asked + kPatience);
    }
    return until;
}

}  // namespace dapl::memory
