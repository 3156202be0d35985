// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The budget that dat_regd gives to this user of an adapter that other users have too.
#include <unistd.h>

#include <algorithm>

#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

/// Interval, in ns, at which the holder of the lease reports what changes.
constexpr Time kBetweenLooks = 50'000'000;
/// Interval, in ns, at which a process that is awake looks for the directory of dat_regd's socket.
constexpr Time kBetweenWatches = 500'000'000;

regd::Message report_of(State& state) REQUIRES(state.lock) {
    const Table& table = state.table;
    const Sums& sums = table.header->sums;
    regd::Message report = regd::make(regd::Kind::kReport, state.adapter);
    const auto bytes = [](std::uint64_t number) { return std::min(number, regd::kMostBytes); };
    report.used = {sums.entries, bytes(sums.bytes)};
    report.wanted = {sums.waiting_entries, bytes(sums.waiting_bytes)};
    report.grace = table.grace;
    return report;
}

/// @return whether there may be a dat_regd: the directory of its socket is there.
bool set_up_watch(State& state, Time time) REQUIRES(state.link_mutex) {
    if (state.watch) return true;
    if (time < state.next_watch) return false;
    state.next_watch = time + kBetweenWatches;
    if (access(state.daemon_directory.c_str(), F_OK) != 0) return false;
    const auto wake = [](void* self) { wake_agent(*static_cast<State*>(self)); };
    state.watch = std::make_unique<regd::Watch>(state.daemon_directory, wake, &state);
    return true;
}

}  // namespace

Time consult_daemon(State& state, Time time) {
    if (!state.asks_daemon) return kNever;
    if (!state.link_mutex.try_lock()) return time + kBetweenLooks;
    const support::MutexLock link_guard(state.link_mutex, support::MutexLock::kTaken);
    if (!set_up_watch(state, time)) return kNever;
    if (state.watch->take_appeared()) state.link.try_now();
    std::optional<regd::Message> report;
    std::int32_t holder = 0;
    bool is_sent = false;
    if (state.lock.acquire()) {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        Lease& lease = state.table.header->lease;
        lease.is_followed = 1;
        if (is_leader(state)) {
            report = report_of(state);
            is_sent = state.link.has_sent(*report);
            lease.has_reported = is_sent;
        } else if (state.table.is_live(lease.process)) {
            holder = state.table.processes[lease.process].pid;
        }
    }
    // Only the holder of the lease speaks for the table.
    if (!report) {
        state.link.close();
        return state.watch->follow(holder) ? kNever : time + kBetweenLooks;
    }
    const regd::Amount budget = state.link.exchange(*report, time, *state.watch)
                                    .value_or(regd::Amount{regd::kUnlimited, regd::kUnlimited});
    if (!state.lock.acquire()) return time + kBetweenLooks;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_leader(state)) return time;
    state.table.header->limit_entries = budget.entries;
    state.table.header->limit_bytes = budget.bytes;
    if (!state.watch->valid()) return time + kBetweenLooks;
    if (!state.link.connected()) return state.link.next_try();
    return is_sent && state.link.has_sent(*report) ? kNever : time + kBetweenLooks;
}

bool may_get_daemon(State& state) {
    if (!state.asks_daemon) return false;
    if (!state.link_mutex.try_lock()) return true;
    const support::MutexLock guard(state.link_mutex, support::MutexLock::kTaken);
    return state.watch != nullptr;
}

}  // namespace dapl::memory
