// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The registration broker as one process sees it: the entries of an adapter's table, which all
/// processes of a user share in one file. The broker accounts, queues and decides; it registers
/// nothing itself. A caller that has got an entry registers memory with the device, and releases
/// the entry after it has deregistered.
///
/// The process that holds the reaper's lease makes all decisions (who is served next, what is taken
/// back), in work(). Only an entry that is free and that nobody waits for is taken on the spot, by
/// the process that asks.
///
/// Thread safe. Entries are named by SlotId, whose generation distinguishes the uses of a slot.
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
    kMessaging,  ///< taken back at once while it is not posted; as the next, while it is
    kPinned,     ///< kept, as far as the share of its owner goes; beyond it, as kRdma
    kPeers       ///< as kPinned, but beyond the share the last choice: peers lose it for good
};

/// Whether an entry is its owner's to keep from the beginning.
constexpr bool is_pinned(Class kind) {
    return kind == Class::kPinned || kind == Class::kPeers;
}

enum class SlotState : std::uint32_t {
    kFree,
    kActive,
    kAnnounced,  ///< is taken back at the deadline
    kReleased,   ///< its owner has agreed and deregisters it
    kRevoked     ///< its owner must deregister it: past its deadline, or messaging
};

struct SlotId {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  ///< 0: no slot
    explicit operator bool() const { return generation != 0; }
    friend bool operator==(const SlotId&, const SlotId&) = default;
};

/// The cache line of a slot that its owner's data path writes without a lock. False statistics here
/// change which slot is chosen first, never how many entries there are.
struct alignas(64) SlotUse {
    std::atomic<std::uint64_t> last_use;   ///< Time, coarse
    std::atomic<std::uint64_t> use_count;  ///< 0, and last_use too: no statistics
    std::atomic<std::uint32_t> busy;       ///< uses begun and not ended
    std::atomic<SlotState> state;          ///< written with the table's lock held, read without it
    std::atomic<Time> deadline;            ///< of an announcement or revocation, else kNever
};

/// Parameters of a table. The process that creates it sets them; later ones use what they find.
struct Terms {
    std::uint64_t entries = 0;  ///< capacity; more than 0
    std::uint64_t bytes = 0;    ///< capacity; 0: no limit
    Time grace = 0;             ///< the grace period T, ns
    std::uint32_t low = 0;  ///< free entries below which the reaper starts; 0: it never works ahead
    std::uint32_t high = 0;  ///< free entries at which it stops
    std::string policy;      ///< name or path of a shared object
};

/// Says how a process takes part in a table.
struct Member {
    std::uint32_t share = 1;  ///< weight relative to other processes; 0: it only leads
    /// Socket of dat_regd, which divides adapters among users; empty: it is not consulted.
    std::string daemon = {};
};

struct Wanted {
    Class kind = Class::kRdma;
    std::uint64_t bytes = 0;
};

enum class Refusal {
    kImpossible,  ///< too much is kept: waiting does not help
    kQuota,       ///< the policy does not admit it
    kTimedOut,
    kNoSlots,  ///< the queue is full, or this process has too many tickets in it
    kBroken    ///< the table is damaged, or could not be locked (which is reported)
};

/// A place in the queue.
struct Ticket {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    friend bool operator==(const Ticket&, const Ticket&) = default;
};

/// A notification from the table to this process.
struct Upcall {
    enum class Kind {
        kAnnounced,  ///< `slot` is taken back at the deadline
        kRevoke,     ///< deregister `slot` now, then release() it
        kGranted,    ///< `ticket` has got `slot`
        kRefused,    ///< `ticket` is refused for the reason `why`
        kPressure    ///< others wait: this process is left with `window` messaging entries
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
    /// Since the table was created.
    std::uint64_t announced, revoked, granted, refused, reclaimed_from_dead;
    std::vector<ProcessStatus> processes;
    std::vector<SlotStatus> slots;  ///< those that are not free
};

/// Has the process enter into the use lines of its slots what its device has counted.
using Collect = void (*)(void* context);

/// Carries out the upcalls for slots of this process (Broker::next_of_slots()), in a thread that
/// waits for an entry: what it waits for may be what this process has to give. @return whether
/// there were any.
using ServeSlots = bool (*)(void* context);

/// Facts of a registration on the device that the table has to know.
struct OnDevice {
    std::optional<std::uint32_t> key;  ///< for Enforce
    bool counted = false;              ///< the device counts its uses, for Collect
};

/// Has the device end a registration that its owner, another process, has not ended by the
/// deadline. @return whether it has certainly ended; false where a device cannot do this.
using Enforce = bool (*)(void* context, std::int32_t pid, std::uint32_t key);

class Broker {
  public:
    /// Opens the table of an adapter, creating it if there is none in use, and joins it.
    /// @param directory the user's own, created if missing. @param adapter names the file.
    static support::Result<std::unique_ptr<Broker>> join(const std::string& directory,
                                                         const std::string& adapter,
                                                         const Terms& terms, const Member& member);
    /// Joins a table that other processes use. Fails if there is none, and does not create one.
    static support::Result<std::unique_ptr<Broker>> join_existing(const std::string& directory,
                                                                  const std::string& adapter,
                                                                  const Member& member);
    /// Leaves the table and releases all entries still held, which the caller has deregistered.
    ~Broker();
    /// For a child after fork: drops the table without changing anything of its parent's.
    void abandon();

    // -- entries
    /// Takes an entry if one is free and nobody waits for it. Blocks on the table's lock only.
    /// Fails with kTimedOut if it would have to wait.
    tl::expected<SlotId, Refusal> try_take(const Wanted& wanted);
    /// Queues for an entry; an upcall kGranted or kRefused follows. Fails, without an upcall, if
    /// the request is refused at once (see Refusal).
    tl::expected<Ticket, Refusal> queue(const Wanted& wanted);
    /// Calls try_take() and, if that would have to wait, queues and blocks until the deadline. A
    /// cancellation point if the caller has enabled cancellation. @param deadline kNever: no limit.
    tl::expected<SlotId, Refusal> take(const Wanted& wanted, Time deadline);
    /// Withdraws a ticket. @return false if it has been granted or refused already: its upcall is
    /// pending or has been fetched.
    bool cancel(const Ticket& ticket);
    /// Called before the consumer sees the registration.
    void describe(SlotId slot, const OnDevice& made);
    /// Releases an entry whose registration is no longer on the device, for whatever reason.
    void release(SlotId slot);
    /// @return the slot's cache line for the data path, which stays mapped as long as this object
    /// lives.
    SlotUse& use(SlotId slot);
    /// @return a bound of the numbers of slots.
    std::uint32_t slot_count() const;

    // -- answers to an announcement
    /// Agrees: the slot becomes kReleased, and its owner deregisters it now. @return false if it is
    /// not announced.
    bool accept(SlotId slot);
    /// Has another entry go in place of this one, with the same deadline. @param other an active
    /// entry of this process, neither pinned nor refused, at least as large. @return false if
    /// `other` is not that, or `slot` is no longer announced.
    bool offer(SlotId slot, SlotId other);
    /// Keeps the entry, which counts as refused until then. If this process keeps more than its
    /// share, that is for one more grace period at most, and once.
    /// @param until when it may be announced again; kNever: it is pinned from now on. @return false
    /// if it is no longer announced, or has to go.
    bool refuse(SlotId slot, Time until);

    // -- for the agent thread of the process
    /// @return the next upcall, in the order in which they arose; nothing if there is none.
    std::optional<Upcall> next();
    /// Takes the lease if its holder is dead or silent. With the lease, serves the queue, takes
    /// entries back and revokes announcements past their deadline; with or without it, has the
    /// device end what is overdue, where the device can. @return when to call this again at the
    /// latest.
    Time work();
    /// @return the next upcall for a slot; nothing if there is none.
    std::optional<Upcall> next_of_slots();
    /// Sleeps until there may be something for next() or work(), or the deadline has passed, or
    /// wake() was called.
    void sleep(Time deadline);
    void wake();
    void set_enforcement(Enforce enforce, void* context);
    /// Set before the first entry is described as counted.
    void set_collection(Collect collect, void* context);
    /// Set before the first take().
    void set_service(ServeSlots serve, void* context);

    /// Takes the lease, whoever holds it. For a process that has no other task.
    void lead();
    /// Sets the policy of the whole table. @return false if it could not be set; a failure to load
    /// it is reported on stderr.
    bool set_policy(const std::string& name);
    /// @return how many requests of all processes wait for entries.
    std::uint64_t waiting() const;
    /// @return how many entries this process is due by its share, at least one.
    std::uint64_t due() const;
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

/// Takes a snapshot of a table without joining it. Fails if there is none.
support::Result<TableStatus> look(const std::string& directory, const std::string& adapter);
/// @return the names of the adapters that have a table in the directory.
std::vector<std::string> tables(const std::string& directory);

/// @return the current time of CLOCK_MONOTONIC.
Time now();

}  // namespace dapl::memory
