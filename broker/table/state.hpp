// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a Broker is made of, and the steps that its functions are put together from. All of them
/// want the table's lock where they do not say otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "broker/regd/link.hpp"
#include "broker/table/accounting.hpp"
#include "broker/table/policy.hpp"
#include "broker/table/process_identity.hpp"
#include "broker/table/table_file.hpp"
#include "broker/table/table_lock.hpp"

namespace dapl::memory {

struct Broker::State {
    State(support::PrivateDirectory place, std::string name, std::unique_ptr<TableFile> opened,
          const std::string& daemon)
        : directory(std::move(place)),
          adapter(std::move(name)),
          file(std::move(opened)),
          table(file->table()),
          lock(table, adapter),
          asks_daemon(!daemon.empty()),
          link(daemon) {}

    const support::PrivateDirectory directory;
    const std::string adapter;
    const std::unique_ptr<TableFile> file;
    const Table table;
    TableLock lock;
    Terms terms;
    ProcessIdentity self;
    std::uint32_t process = kNone;  ///< our row
    std::uint32_t generation = 0;   ///< and its
    bool abandoned = false;
    /// Of our doorbell, when next() last found nothing. Of the one thread that does the work.
    std::uint32_t heard = 0;
    std::atomic<Enforce> enforce{nullptr};
    std::atomic<void*> enforce_context{nullptr};
    PolicyInForce policy GUARDED_BY(lock);
    const bool asks_daemon;
    support::Mutex link_mutex;  ///< before the table's lock
    regd::Link link GUARDED_BY(link_mutex);

    ProcessRow& row() const { return table.processes[process]; }
    /// Tickets of threads that went away while the lock could not be had.
    support::Mutex orphans_mutex;
    std::vector<Ticket> orphans GUARDED_BY(orphans_mutex);

    /// Whether this is the process that joined, and no child of it.
    bool is_here() const;
};

using State = Broker::State;

/// Rings a process's agent thread.
void ring(State& state, std::uint32_t process) REQUIRES(state.lock);
/// Rings the holder of the lease; nobody where nobody has it.
void ring_leader(State& state) REQUIRES(state.lock);

// -- queue.cpp: who waits, in which order
/// What speaks against a request at once; nothing where it may wait or be granted.
std::optional<Refusal> objection(State& state, std::uint32_t process, const Wanted& wanted)
    REQUIRES(state.lock);
tl::expected<Ticket, Refusal> add_ticket(State& state, const Wanted& wanted, bool blocking)
    REQUIRES(state.lock);
/// Whether a process's turn is before another's. Both wait.
bool is_before(const Table& table, std::uint32_t a, std::uint32_t b);
/// The request that is served next, and before all others. @return kNone: nobody waits.
std::uint32_t next_in_order(State& state) REQUIRES(state.lock);
/// How a ticket of ours has ended: the slot, or why not. It is freed.
/// @param withdraw kTimedOut when it still waits. Else nothing then.
std::optional<tl::expected<SlotId, Refusal>> outcome(State& state, const Ticket& ticket,
                                                     bool withdraw) REQUIRES(state.lock);
void grant(State& state, std::uint32_t ticket) REQUIRES(state.lock);
void refuse(State& state, std::uint32_t ticket, Refusal why) REQUIRES(state.lock);
/// Tells those who wait for what will never come.
void refuse_what_is_impossible(State& state) REQUIRES(state.lock);

// -- policy_calls.cpp: what the policy is asked
bool admits(State& state, std::uint32_t process, std::uint64_t bytes) REQUIRES(state.lock);
/// Slots that the policy takes back. @param beneficiary row of the one who waits, or kNone.
std::vector<std::uint32_t> choose(State& state, Time time, std::uint32_t beneficiary,
                                  std::uint64_t entries, std::uint64_t bytes) REQUIRES(state.lock);

// -- lease.cpp
void take_lease(State& state, Time time) REQUIRES(state.lock);
bool is_leader(const State& state) REQUIRES(state.lock);
/// Whether somebody waits or something goes away: then the holder's heart has to beat.
bool is_busy(const State& state) REQUIRES(state.lock);
/// Takes the lease where nobody alive has it, else beats. @return whether it is ours.
bool hold_lease(State& state, Time time) REQUIRES(state.lock);

// -- reaper.cpp: what the holder of the lease does
/// A slot whose time has come, and which the device should end.
struct Overdue {
    SlotId slot;
    std::int32_t pid;
    std::uint32_t key;
};
void revoke_what_is_due(State& state, Time time) REQUIRES(state.lock);
/// For whoever can have the device end them, which the holder of the lease need not be.
std::vector<Overdue> overdue(State& state, Time time) REQUIRES(state.lock);
void serve(State& state) REQUIRES(state.lock);
/// Announces as much as is waited for and not coming yet, and works ahead.
void reap(State& state, Time time) REQUIRES(state.lock);

// -- answers.cpp
/// Refusals that have ended count no more.
void end_refusals(State& state, Time time) REQUIRES(state.lock);

// -- reclaim.cpp
/// Frees what dead processes left. Not more often than every few ms. Takes the lock.
void reclaim_dead(State& state) EXCLUDES(state.lock);
/// Frees everything that a process has, and its row.
void clear_process(State& state, std::uint32_t process) REQUIRES(state.lock);

// -- budget.cpp. Both take the locks that they need
/// Tells dat_regd what this user has and wants, and obeys its budget. For the holder of the lease.
void consult_daemon(State& state, Time time) EXCLUDES(state.lock);
bool has_daemon(State& state) EXCLUDES(state.lock);

/// What stands in a table.
TableStatus status_of(const Table& table);

}  // namespace dapl::memory
