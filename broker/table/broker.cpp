// SPDX-License-Identifier: BSD-2-Clause
#include "broker/broker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "broker/table/fault_points.hpp"
#include "broker/table/state.hpp"
#include "dapl/base/codes.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace dapl::memory {
namespace {

support::Result<std::unique_ptr<Broker>> cannot_use(const std::string& path, const std::string& why,
                                                    int cause = 0) {
    if (!support::report_limit(cause, "the directory " + path, path.substr(0, path.rfind('/'))))
        support::report<support::kRegistrationsUnusable>(path, why);
    return support::failure(error(DAT_INSUFFICIENT_RESOURCES), why);
}

/// @param terms has room for the name of a policy: nothing is allocated with the table locked.
void read_terms(const Header& header, Terms& terms) {
    terms.entries = header.capacity_entries;
    terms.bytes = header.capacity_bytes;
    terms.grace = header.grace;
    terms.low = header.low;
    terms.high = header.high;
    terms.policy.assign(header.policy, strnlen(header.policy, kNameRoom));
}

/// Takes a row for this process. @return false if all are taken.
bool enter(State& state, const Member& member) REQUIRES(state.lock) {
    const Table& table = state.table;
    std::uint32_t index = 0;
    while (index < kProcesses && table.is_live(index)) ++index;
    if (index == kProcesses) return false;
    ProcessRow& row = table.processes[index];
    row.pid = state.self.pid;
    row.start = state.self.start;
    row.share = member.share;
    row.collected = row.asked = 0;
    row.served = row.window = row.revoked = row.released = row.granted = row.refused = 0;
    row.tickets = 0;
    row.sums = {};
    row.waiting = row.upcalls = kEmpty;
    state.process = index;
    state.generation = ++row.generation;
    table.header->rows = std::max(table.rows(), index + 1);
    row.state = RowState::kLive;
    fault_point(FaultPoint::kJoined);
    table.header->shares += member.share;
    table.header->told_entries = kUntold;
    return true;
}

}  // namespace

bool Broker::State::is_here() const {
    return !abandoned && self.pid == getpid();
}

Broker::Broker(std::unique_ptr<State> state) : state_(std::move(state)) {}

support::Result<std::unique_ptr<Broker>> Broker::join(const std::string& path,
                                                      const std::string& adapter,
                                                      const Terms& terms, const Member& member) {
    return join_as(path, adapter, &terms, member);
}

support::Result<std::unique_ptr<Broker>> Broker::join_existing(const std::string& path,
                                                               const std::string& adapter,
                                                               const Member& member) {
    return join_as(path, adapter, nullptr, member);
}

support::Result<std::unique_ptr<Broker>> Broker::join_as(const std::string& path,
                                                         const std::string& adapter,
                                                         const Terms* terms, const Member& member) {
    if (!is_file_name(adapter)) return cannot_use(path, "'" + adapter + "' is not a file name");
    auto directory = support::PrivateDirectory::open(path);
    if (!directory) return cannot_use(path, directory.error().why, directory.error().error);
    const DirectoryLock door(*directory);
    if (!door.valid()) return cannot_use(path, "another process holds its lock");
    auto file = TableFile::join(*directory, adapter, terms);
    if (!file) return tl::unexpected(file.error());
    auto state =
        std::make_unique<State>(std::move(*directory), adapter, std::move(*file), member.daemon);
    state->self = this_process();
    state->terms.policy.reserve(kNameRoom);
    reclaim_dead(*state);
    load_policy(*state);
    if (state->policy_generation == kNone || !state->lock.acquire())
        return support::failure(error(DAT_INTERNAL_ERROR), "lock");
    {
        const TableGuard guard(state->lock, TableGuard::kTaken);
        read_terms(*state->table.header, state->terms);
        if (!enter(*state, member))
            return cannot_use(path, "too many processes use the table of " + adapter);
    }
    return std::unique_ptr<Broker>(new Broker(std::move(state)));
}

Broker::~Broker() {
    State& state = *state_;
    if (!state.is_here()) {
        abandon();
        return;
    }
    const DirectoryLock door(state.directory);
    if (state.lock.acquire()) {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        clear_process(state, state.process);
    }
    if (door.valid()) state.file->remove_if_last(state.directory, state.adapter);
}

void Broker::abandon() {
    state_->abandoned = true;
    state_->file->abandon();
}

void Broker::set_enforcement(Enforce enforce, void* context) {
    state_->enforce_context.store(context, std::memory_order_relaxed);
    state_->enforce.store(enforce, std::memory_order_release);
}

bool Broker::set_policy(const std::string& name) {
    State& state = *state_;
    if (name.size() >= kNameRoom || !Policy::load(name)) return false;
    if (!state.is_here() || !state.lock.acquire()) return false;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    Header& header = *state.table.header;
    std::memset(header.policy, 0, kNameRoom);
    name.copy(header.policy, kNameRoom - 1);
    ++header.policy_generation;
    ring_leader(state);
    return true;
}

void Broker::lead() {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (!is_leader(state)) take_lease(state, now());
}

const Terms& Broker::terms() const {
    return state_->terms;
}

}  // namespace dapl::memory
