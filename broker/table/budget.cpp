// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The budget that dat_regd gives to this user of an adapter that other users have too.
#include <unistd.h>

#include <algorithm>

#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

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

}  // namespace

void consult_daemon(State& state, Time time) {
    if (!state.asks_daemon || !state.link_mutex.try_lock()) return;
    const support::MutexLock link_guard(state.link_mutex, support::MutexLock::kTaken);
    std::optional<regd::Message> report;
    if (state.lock.acquire()) {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        if (is_leader(state)) report = report_of(state);
    }
    // Only the holder of the lease speaks for the table.
    if (!report) return state.link.close();
    const regd::Amount budget = state.link.exchange(*report, time)
                                    .value_or(regd::Amount{regd::kUnlimited, regd::kUnlimited});
    if (!state.lock.acquire()) return;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_leader(state)) return;
    state.table.header->limit_entries = budget.entries;
    state.table.header->limit_bytes = budget.bytes;
}

bool may_get_daemon(const State& state) {
    return state.asks_daemon && access(state.daemon_directory.c_str(), F_OK) == 0;
}

bool has_daemon(State& state) {
    if (!state.asks_daemon) return false;
    if (!state.link_mutex.try_lock()) return true;
    const support::MutexLock guard(state.link_mutex, support::MutexLock::kTaken);
    return state.link.connected();
}

}  // namespace dapl::memory
