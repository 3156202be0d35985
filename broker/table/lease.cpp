// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The lease: which process makes the decisions.
#include <utility>

#include "broker/table/fault_points.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

/// A holder that is needed (is_busy()) and does nothing for this long, in ns, loses the lease: it
/// is stopped, or has no thread for the work. That does no harm, since all decisions are made with
/// the table locked.
constexpr Time kPatience = 100'000'000;
/// A holder whose heartbeat is younger than this, in ns, is alive without a check.
constexpr Time kSurelyAlive = 10'000'000;

/// @return for how long the holder has been needed and has done nothing.
Time silence(const State& state, Time time) REQUIRES(state.lock) {
    const Lease& lease = state.table.header->lease;
    if (lease.called != 0) return since(time, lease.called);
    return is_busy(state) ? since(time, lease.heartbeat) : 0;
}

bool has_lost_it(const State& state, Time time) REQUIRES(state.lock) {
    const Lease& lease = state.table.header->lease;
    if (!state.table.is_live(lease.process)) return true;
    const ProcessRow& holder = state.table.processes[lease.process];
    if (holder.generation != lease.generation) return true;
    if (since(time, lease.heartbeat) < kSurelyAlive) return false;
    if (silence(state, time) > kPatience) return true;
    return !is_alive({holder.pid, holder.start});
}

}  // namespace

bool is_leader(const State& state) {
    const Lease& lease = state.table.header->lease;
    return lease.process == state.process && lease.generation == state.generation;
}

bool is_busy(const State& state) {
    const Header& header = *state.table.header;
    return header.sums.waiting_entries != 0 || header.leaving.first != kNone;
}

void take_lease(State& state, Time time) {
    Header& header = *state.table.header;
    tell_followers(state);
    header.lease = {state.process, state.generation, time, 0, 0, 0};
    // There is no limit until this process has got a budget.
    header.limit_entries = header.limit_bytes = regd::kUnlimited;
}

bool hold_lease(State& state, Time time) {
    Lease& lease = state.table.header->lease;
    if (!is_leader(state)) {
        if (!has_lost_it(state, time)) return false;
        take_lease(state, time);
        fault_point(FaultPoint::kLeaseTaken);
    }
    lease.heartbeat = time;
    lease.called = 0;
    return true;
}

thread_local bool InPlaceOfAgent::is_here_ = false;

void ring(State& state, std::uint32_t process) {
    std::atomic<std::uint32_t>& doorbell = state.table.processes[process].doorbell;
    doorbell.fetch_add(1, std::memory_order_release);
    if (process == state.process && InPlaceOfAgent::is_here()) return;
    state.lock.wake_later(doorbell);
}

void ring_leader(State& state) {
    const Lease& lease = state.table.header->lease;
    if (state.table.is_live(lease.process)) ring(state, lease.process);
}

void ring_all(State& state) {
    for (std::uint32_t i = 0; i < state.table.rows(); ++i) {
        if (!state.table.is_live(i)) continue;
        std::atomic<std::uint32_t>& doorbell = state.table.processes[i].doorbell;
        doorbell.fetch_add(1, std::memory_order_release);
        state.lock.wake_later(doorbell);
    }
}

void tell_followers(State& state) {
    if (std::exchange(state.table.header->lease.is_followed, 0) != 0) ring_all(state);
}

}  // namespace dapl::memory
