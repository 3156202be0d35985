// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Snapshots of a table, for display and queries.
#include <algorithm>
#include <cstring>

#include "broker/table/share.hpp"
#include "broker/table/state.hpp"
#include "dapl/base/codes.hpp"

namespace dapl::memory {
namespace {

ProcessStatus status_of_process(const Table& table, std::uint32_t index) {
    const ProcessRow& row = table.processes[index];
    const Lease& lease = table.header->lease;
    return {.pid = row.pid,
            .process = index,
            .share = row.share,
            .entries = row.sums.entries,
            .bytes = row.sums.bytes,
            .waiting_entries = row.sums.waiting_entries,
            .waiting_bytes = row.sums.waiting_bytes,
            .revoked = row.revoked,
            .released = row.released,
            .granted = row.granted,
            .refused = row.refused,
            .holds_lease = lease.process == index && lease.generation == row.generation};
}

SlotStatus status_of_slot(const Table& table, std::uint32_t index) {
    const SlotRecord& slot = table.slots[index];
    const SlotUse& use = table.uses[index];
    const bool owned = slot.process < kProcesses;
    return {.slot = index,
            .process = slot.process,
            .share = owned ? table.processes[slot.process].share : 0,
            .pid = owned ? table.processes[slot.process].pid : 0,
            .kind = slot.kind,
            .state = table.state(index),
            .length = slot.length,
            .use_count = use.use_count.load(std::memory_order_relaxed),
            .busy = use.busy.load(std::memory_order_relaxed),
            .last_use = use.last_use.load(std::memory_order_relaxed),
            .deadline = use.deadline.load(std::memory_order_relaxed)};
}

/// @return a status with room for all that fill() enters, which allocates nothing: it runs with the
/// table locked.
TableStatus room_for(const Table& table) {
    TableStatus status{};
    status.adapter.reserve(kNameRoom);
    status.policy.reserve(kNameRoom);
    status.terms.policy.reserve(kNameRoom);
    status.processes.reserve(kProcesses);
    constexpr std::uint64_t kMore = 256;  // slots that are taken meanwhile
    status.slots.reserve(std::min<std::uint64_t>(table.touched() + kMore, table.slot_count));
    return status;
}

void fill(TableStatus& status, const Table& table) {
    const Header& header = *table.header;
    status.adapter.assign(header.adapter, strnlen(header.adapter, kNameRoom));
    status.policy.assign(header.policy, strnlen(header.policy, kNameRoom));
    status.terms.entries = table.capacity_entries;
    status.terms.bytes = table.capacity_bytes;
    status.terms.grace = table.grace;
    status.terms.low = header.low;
    status.terms.high = header.high;
    status.terms.policy.assign(header.policy, strnlen(header.policy, kNameRoom));
    status.entries = header.sums.entries;
    status.bytes = header.sums.bytes;
    status.waiting = header.sums.waiting_entries;
    status.announced = header.counts.announced;
    status.revoked = header.counts.revoked;
    status.granted = header.counts.granted;
    status.refused = header.counts.refused;
    status.reclaimed_from_dead = header.counts.reclaimed_from_dead;
    for (std::uint32_t i = 0; i < table.rows(); ++i)
        if (table.is_live(i)) status.processes.push_back(status_of_process(table, i));
    for (std::uint32_t i = 0; i < table.touched(); ++i)
        if (table.state(i) != SlotState::kFree && status.slots.size() < status.slots.capacity())
            status.slots.push_back(status_of_slot(table, i));
}

/// If the lock is held for too long, a snapshot without it is better than none.
TableStatus snapshot(const Table& table, TableLock& lock) {
    TableStatus status = room_for(table);
    if (!lock.acquire()) {
        fill(status, table);
        return status;
    }
    const TableGuard guard(lock, TableGuard::kTaken);
    fill(status, table);
    return status;
}

}  // namespace

std::uint64_t Broker::waiting() const {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return 0;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    return state.table.header->sums.waiting_entries;
}

std::uint64_t Broker::due() const {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return 1;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    return share_of(state.table, state.process).entries;
}

TableStatus Broker::status() const {
    State& state = *state_;
    if (!state.is_here()) return {};
    return snapshot(state.table, state.lock);
}

support::Result<TableStatus> look(const std::string& path, const std::string& adapter) {
    if (!is_file_name(adapter))
        return support::failure(error(DAT_INVALID_PARAMETER), "not a file name");
    auto directory = support::PrivateDirectory::open_existing(path, geteuid());
    if (!directory) return support::failure(error(DAT_NAME_NOT_FOUND), directory.error().why);
    auto file = TableFile::look(*directory, adapter);
    if (!file) return support::failure(error(DAT_NAME_NOT_FOUND), file.error().why);
    TableLock lock((*file)->table(), adapter, true);
    lock.set_patience(500'000'000);
    return snapshot((*file)->table(), lock);
}

std::vector<std::string> tables(const std::string& path) {
    std::vector<std::string> names;
    auto directory = support::PrivateDirectory::open_existing(path, geteuid());
    if (!directory) return names;
    for (const std::string& entry : directory->entries())
        if (entry.rfind(kFilePrefix, 0) == 0) names.push_back(entry.substr(kFilePrefix.size()));
    return names;
}

}  // namespace dapl::memory
