// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The registration broker as one process sees it: entries of an adapter's table, which all
/// processes of a user share in one file. It accounts, queues and decides; it registers nothing
/// itself. Who may have an entry registers; who has deregistered releases it.
///
/// The decisions (who is served next, what is taken back) are made by the process that holds the
/// reaper's lease, in work(), and by nobody else. An entry that is free and that nobody waits for
/// is taken on the spot.
///
/// Thread safe. Entries are named by SlotId, whose generation tells a reused one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/base/result.hpp"

namespace dapl::memory {

/// CLOCK_MONOTONIC in ns, which all processes of a machine share.
using Time = std::uint64_t;
inline constexpr Time kNever = ~Time{0};

enum class Class : std::uint32_t {
    kRdma,       ///< taken back with notice: announced, gone after the grace period
    kMessaging,  ///< taken back at once, while it is not posted
    kPinned      ///< never taken back
};

enum class SlotState : std::uint32_t {
    kFree,
    kActive,
    kAnnounced,  ///< goes away at the deadline
    kReleased,   ///< its owner has agreed and deregisters it
    kRevoked     ///< the deadline has passed: its owner deregisters, whatever it would like
};

struct SlotId {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  ///< 0: none
    explicit operator bool() const { return generation != 0; }
    friend bool operator==(const SlotId&, const SlotId&) = default;
};

/// The cache line of a slot that its owner's data path writes, without a lock. What a liar writes
/// here changes who is asked first, never how many entries there are.
struct alignas(64) SlotUse {
    std::atomic<std::uint64_t> last_use;   ///< Time, coarse
    std::atomic<std::uint64_t> use_count;  ///< 0 and no last_use: nothing is told of its use
    std::atomic<std::uint32_t> busy;       ///< uses begun and not ended
    std::atomic<SlotState> state;          ///< written with the table's lock, read without
    std::atomic<Time> deadline;            ///< of an announcement, else kNever
};

/// What the first process that opens a table lays down; the others take what they find.
struct Terms {
    std::uint64_t entries = 0;  ///< capacity; more than 0
    std::uint64_t bytes = 0;    ///< capacity; 0: no limit
    Time grace = 0;             ///< T
    std::uint32_t low = 0;  ///< free entries below which the reaper begins; 0: it never works ahead
    std::uint32_t high = 0;  ///< and up to which it works
    std::string policy;      ///< name or path of a shared object
};

/// What this process is.
struct Member {
    std::uint32_t share = 1;  ///< weight against other processes; 0: it only leads
    /// Where dat_regd listens, which shares out among users; empty: it is not asked.
    std::string daemon = {};
};

struct Wanted {
    Class kind = Class::kRdma;
    std::uint64_t bytes = 0;
};

enum class Refusal {
    kImpossible,  ///< what is pinned and refused leaves no room, however long one waits
    kQuota,       ///< the policy does not admit it
    kTimedOut,
    kNoSlots,  ///< more tickets wait than the queue holds
    kBroken    ///< the table cannot be used any more; the user was told
};

/// A place in the queue.
struct Ticket {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    friend bool operator==(const Ticket&, const Ticket&) = default;
};

/// What the table has to tell this process.
struct Upcall {
    enum class Kind {
        kAnnounced,  ///< slot goes away at the deadline
        kRevoke,     ///< deregister slot now, then release() it
        kGranted,    ///< ticket has got slot
        kRefused,    ///< ticket will not get one: why
        kPressure    ///< others wait: window entries of messaging buffers are left to this process
    };
    Kind kind;
    SlotId slot{};
    Ticket ticket{};
    Refusal why{};
    Time deadline = kNever;
    std::uint64_t window = 0;
};

struct SlotStatus {
    std::uint32_t slot, process, share;
    std::int32_t pid;
    Class kind;
    SlotState state;
    std::uint64_t length, use_count;
    std::uint32_t busy;
    Time last_use, deadline;
};
struct ProcessStatus {
    std::int32_t pid;
    std::uint32_t process, share;
    std::uint64_t entries, bytes, waiting_entries, waiting_bytes;
    std::uint64_t revoked, released, granted, refused;  ///< since it joined
    bool holds_lease;
};
struct TableStatus {
    std::string adapter, policy;
    Terms terms;
    std::uint64_t entries, bytes, waiting;
    std::uint64_t announced, revoked, granted, refused, reclaimed_from_dead;  ///< ever
    std::vector<ProcessStatus> processes;
    std::vector<SlotStatus> slots;  ///< those that are not free
};

/// Ends the registration of another process whose owner has not done so by the deadline.
/// @return whether it surely has ended. Where a device has no such thing: false.
using Enforce = bool (*)(void* context, std::int32_t pid, std::uint32_t key);

class Broker {
  public:
    /// Opens the table of an adapter, or makes it, and joins it.
    /// @param directory of the user's own, made where it is missing. @param adapter names the file.
    static support::Result<std::unique_ptr<Broker>> join(const std::string& directory,
                                                         const std::string& adapter,
                                                         const Terms& terms, const Member& member);
    /// Joins a table that others use. @return nothing where there is none; it is not made.
    static support::Result<std::unique_ptr<Broker>> join_existing(const std::string& directory,
                                                                  const std::string& adapter,
                                                                  const Member& member);
    /// Gives back everything that is still held: the caller has deregistered it.
    ~Broker();
    /// In a child after fork: forgets the table, and changes nothing of its parent's.
    void abandon();

    // -- entries
    /// Takes an entry if there is room and nobody waits for it. Never blocks but for the lock.
    /// Refused with kTimedOut when it would have to wait.
    tl::expected<SlotId, Refusal> try_take(const Wanted& wanted);
    /// Queues for one; kGranted or kRefused follows as an upcall. Refused at once: see Refusal.
    tl::expected<Ticket, Refusal> queue(const Wanted& wanted);
    /// try_take(), else queues and blocks until the deadline. A cancellation point where the
    /// caller has enabled cancellation. @param deadline kNever: as long as it takes.
    tl::expected<SlotId, Refusal> take(const Wanted& wanted, Time deadline);
    /// @return false when the ticket was granted meanwhile: its upcall is on the way, or was taken.
    bool cancel(const Ticket& ticket);
    /// What the device calls the registration, for Enforce. Before the consumer sees it.
    void name(SlotId slot, std::uint32_t key);
    /// The registration is gone on the device, for whatever reason.
    void release(SlotId slot);
    /// The slot's line for the data path; stays mapped as long as this.
    SlotUse& use(SlotId slot);

    // -- answers to an announcement
    bool accept(
        SlotId slot);  ///< kReleased: the owner deregisters now. @return false: not announced
    /// @param other an active entry of ours, at least as large, that goes in its place with the
    /// same deadline. @return false when it is not that, or slot is not announced any more.
    bool offer(SlotId slot, SlotId other);
    /// @param until when it may be asked for again; kNever: it is pinned from now on. Counts as
    /// refused meanwhile. @return false: not announced any more.
    bool refuse(SlotId slot, Time until);

    // -- for one thread of the process, which does the work
    /// The next thing to do, in the order in which it happened.
    std::optional<Upcall> next();
    /// Does what the lease holder has to do, takes the lease where nobody alive has it, moves
    /// announcements past their deadline on. @return when to be called again at the latest.
    Time work();
    /// Sleeps until there may be something for next() or work(), or the deadline has passed, or
    /// wake() was called.
    void sleep(Time deadline);
    void wake();
    void set_enforcement(Enforce enforce, void* context);

    /// Takes the lease, whoever has it: for one whose only duty it is.
    void lead();
    /// Another policy for the whole table. @return false: it cannot be had; told on stderr.
    bool set_policy(const std::string& name);
    TableStatus status() const;
    const Terms& terms() const;

    struct State;  ///< state.hpp

  private:
    static support::Result<std::unique_ptr<Broker>> join_as(const std::string& directory,
                                                            const std::string& adapter,
                                                            const Terms* terms,
                                                            const Member& member);
    explicit Broker(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// What stands in a table, for one who is not a member. @return nothing where there is none.
support::Result<TableStatus> look(const std::string& directory, const std::string& adapter);
/// Names of the adapters that have a table there.
std::vector<std::string> tables(const std::string& directory);

/// CLOCK_MONOTONIC now.
Time now();

}  // namespace dapl::memory
