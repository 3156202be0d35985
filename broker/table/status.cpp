// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Snapshots of a table, for display and queries.
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

}  // namespace

TableStatus status_of(const Table& table) {
    const Header& header = *table.header;
    const std::string policy(header.policy, strnlen(header.policy, kNameRoom));
    TableStatus status{.adapter = {header.adapter, strnlen(header.adapter, kNameRoom)},
                       .policy = policy,
                       .terms = {table.capacity_entries, table.capacity_bytes, table.grace,
                                 header.low, header.high, policy},
                       .entries = header.sums.entries,
                       .bytes = header.sums.bytes,
                       .waiting = header.sums.waiting_entries,
                       .announced = header.counts.announced,
                       .revoked = header.counts.revoked,
                       .granted = header.counts.granted,
                       .refused = header.counts.refused,
                       .reclaimed_from_dead = header.counts.reclaimed_from_dead,
                       .processes = {},
                       .slots = {}};
    for (std::uint32_t i = 0; i < table.rows(); ++i)
        if (table.is_live(i)) status.processes.push_back(status_of_process(table, i));
    for (std::uint32_t i = 0; i < table.touched(); ++i)
        if (table.state(i) != SlotState::kFree) status.slots.push_back(status_of_slot(table, i));
    return status;
}

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
    if (!state.lock.acquire()) return status_of(state.table);
    const TableGuard guard(state.lock, TableGuard::kTaken);
    return status_of(state.table);
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
    // If the lock is held for too long, a snapshot without it is better than none.
    if (!lock.acquire()) return status_of((*file)->table());
    const TableGuard guard(lock, TableGuard::kTaken);
    return status_of((*file)->table());
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
