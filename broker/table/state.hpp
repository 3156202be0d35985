// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The state of a Broker, and the steps that its functions consist of. All steps require the
/// table's lock unless they say otherwise.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "broker/broker.hpp"
#include "broker/regd/link.hpp"
#include "broker/regd/watch.hpp"
#include "broker/table/accounting.hpp"
#include "broker/table/policy.hpp"
#include "broker/table/process_identity.hpp"
#include "broker/table/table_file.hpp"
#include "broker/table/table_lock.hpp"
#include "support/base/page_allocator.hpp"

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
          daemon_directory(std::filesystem::path(daemon).parent_path()),
          link(daemon) {}

    const support::PrivateDirectory directory;
    const std::string adapter;
    const std::unique_ptr<TableFile> file;
    const Table table;
    TableLock lock;
    Terms terms;
    ProcessIdentity self;
    std::uint32_t process = kNone;  ///< index of our row
    std::uint32_t generation = 0;   ///< of our row
    bool abandoned = false;
    /// wake() was called, and sleep() has not returned for it.
    std::atomic<bool> is_woken{false};
    // As next() last found them. Used by the agent thread only.
    std::uint32_t heard = 0;  ///< our doorbell
    bool has_tickets = false;
    std::atomic<Enforce> enforce{nullptr};
    std::atomic<void*> enforce_context{nullptr};
    std::atomic<Collect> collect{nullptr};
    std::atomic<void*> collect_context{nullptr};
    ServeSlots serve = nullptr;
    void* serve_context = nullptr;
    /// The policy that the table names, or named when load_policy() last looked.
    std::unique_ptr<Policy> policy GUARDED_BY(lock);
    std::atomic<std::uint32_t> policy_generation{kNone};  ///< Header::policy_generation
    const bool asks_daemon;
    const std::string daemon_directory;
    support::Mutex link_mutex;  ///< comes before the table's lock
    regd::Link link GUARDED_BY(link_mutex);
    /// Made once there is the directory of dat_regd's socket.
    std::unique_ptr<regd::Watch> watch GUARDED_BY(link_mutex);
    Time next_watch GUARDED_BY(link_mutex) = 0;

    ProcessRow& row() const { return table.processes[process]; }
    /// Guards the tickets of threads that stopped waiting while the table could not be locked.
    support::Mutex orphans_mutex;
    support::PageVector<Ticket> orphans GUARDED_BY(orphans_mutex);

    /// @return whether this is the process that joined, and not a child of it.
    bool is_here() const;
};

using State = Broker::State;

/// @return how long ago an event was; 0 if it is yet to come.
inline Time since(Time time, Time event) {
    return time > event ? time - event : 0;
}

/// While one that holds lives, the calling thread does the work of its process's agent thread,
/// which ring() then does not wake.
class InPlaceOfAgent {
  public:
    explicit InPlaceOfAgent(bool holds) { is_here_ = holds; }
    ~InPlaceOfAgent() { is_here_ = false; }
    InPlaceOfAgent(const InPlaceOfAgent&) = delete;
    InPlaceOfAgent& operator=(const InPlaceOfAgent&) = delete;
    static bool is_here() { return is_here_; }

  private:
    static thread_local bool is_here_;
};

/// Wakes the agent thread of this process.
void wake_agent(State& state);
/// Rings a process: wakes its agent thread.
void ring(State& state, std::uint32_t process) REQUIRES(state.lock);
/// Rings the holder of the lease, if there is one.
void ring_leader(State& state) REQUIRES(state.lock);
/// Rings all processes, this one's agent thread too.
void ring_all(State& state) REQUIRES(state.lock);
/// Rings those who follow the holder of the lease. Called when it changes hands.
void tell_followers(State& state) REQUIRES(state.lock);

// -- queue.cpp: who waits, in which order
/// @return why a request is refused at once; nothing if it may wait or be granted.
std::optional<Refusal> objection(State& state, std::uint32_t process, const Wanted& wanted)
    REQUIRES(state.lock);
tl::expected<Ticket, Refusal> add_ticket(State& state, const Wanted& wanted, bool blocking)
    REQUIRES(state.lock);
/// @return whether process `a` is served before `b`. Both must have waiting tickets.
bool is_before(const Table& table, std::uint32_t a, std::uint32_t b);
/// @return the ticket that is served next, before all others; kNone if nobody waits.
std::uint32_t next_in_order(State& state) REQUIRES(state.lock);
/// Frees a ticket of ours that has been granted or refused, and returns its slot or the reason.
/// @param withdraw also free a ticket that still waits, with kTimedOut as the reason; otherwise
/// nothing is returned for it.
std::optional<tl::expected<SlotId, Refusal>> outcome(State& state, const Ticket& ticket,
                                                     bool withdraw) REQUIRES(state.lock);
void grant(State& state, std::uint32_t ticket) REQUIRES(state.lock);
void refuse(State& state, std::uint32_t ticket, Refusal why) REQUIRES(state.lock);
/// Refuses the waiting tickets that can never be granted.
void refuse_what_is_impossible(State& state) REQUIRES(state.lock);

// -- policy_calls.cpp: calls to the policy
/// Loads the policy if another one is in force. Called before the lock is taken for a decision.
void load_policy(State& state) EXCLUDES(state.lock);
/// @return whether the policy takes anything back.
bool takes_back(State& state) REQUIRES(state.lock);
bool admits(State& state, std::uint32_t process, std::uint64_t bytes) REQUIRES(state.lock);
/// @return the slots that the policy chooses to be taken back. @param beneficiary row of the
/// process that waits, or kNone.
support::PageVector<std::uint32_t> choose(State& state, Time time, std::uint32_t beneficiary,
                                          std::uint64_t entries, std::uint64_t bytes)
    REQUIRES(state.lock);

// -- statistics.cpp: uses that devices count
/// @return whether this process should enter what its device has counted.
bool is_collection_due(const State& state, Time time) REQUIRES(state.lock);
void collect(State& state) EXCLUDES(state.lock);
/// Asks the other processes for what their devices have counted. @return until when to wait for
/// their answers; 0: all is known that can be known.
Time await_statistics(State& state, Time time) REQUIRES(state.lock);

// -- lease.cpp
void take_lease(State& state, Time time) REQUIRES(state.lock);
bool is_leader(const State& state) REQUIRES(state.lock);
/// @return whether somebody waits or a slot is about to go: then the holder of the lease has to
/// refresh its heartbeat.
bool is_busy(const State& state) REQUIRES(state.lock);
/// Takes the lease if its holder is dead or silent; refreshes the heartbeat of a lease that is
/// ours. @return whether it is ours.
bool hold_lease(State& state, Time time) REQUIRES(state.lock);

// -- reaper.cpp: what the holder of the lease does
/// A registration past its deadline, which the device should end.
struct Overdue {
    SlotId slot;
    std::int32_t pid;
    std::uint32_t key;
};
void revoke_what_is_due(State& state, Time time) REQUIRES(state.lock);
/// @return the overdue registrations of other processes, if this process can have the device end
/// them; it need not hold the lease.
support::PageVector<Overdue> overdue(State& state, Time time) REQUIRES(state.lock);
void serve(State& state) REQUIRES(state.lock);
/// Takes back what waiters need beyond what is free or coming, and works ahead.
/// @return when to call this again at the latest because statistics are awaited; else kNever.
Time reap(State& state, Time time) REQUIRES(state.lock);

// -- answers.cpp
/// Ends the refusals whose time is over.
void end_refusals(State& state, Time time) REQUIRES(state.lock);

// -- reclaim.cpp
/// Frees what dead processes left behind, at most once every few ms. Takes the lock.
void reclaim_dead(State& state) EXCLUDES(state.lock);
/// Frees everything that a process has, and its row.
void clear_process(State& state, std::uint32_t process) REQUIRES(state.lock);

// -- budget.cpp. Both take the locks that they need
/// If there may be a dat_regd, reports to it what this user has and wants, and applies its
/// budget, if this process holds the lease; else sees to it that the end of the holder wakes this
/// process. @return when to call this again at the latest.
Time consult_daemon(State& state, Time time) EXCLUDES(state.lock);
/// @return whether there may be a dat_regd. Then the agent thread does all its work itself.
bool may_get_daemon(State& state) EXCLUDES(state.lock);

}  // namespace dapl::memory
