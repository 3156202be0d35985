// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The layout of the file that processes share. The truth is in the slots, the tickets and the rows
/// of processes. Each has one word, `state`, whose store makes a change happen; the stores before
/// that only prepare it. Sums and lists are derived (accounting.hpp), and rebuilt if a process died
/// half-way (repair.cpp). `Header::mutex` guards everything that is not atomic.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "broker/adapter_name.hpp"
#include "broker/broker.hpp"
#include "broker/table/list.hpp"

namespace dapl::memory {

inline constexpr std::uint64_t kTableMagic = 0x4f44'5245'4753'0001;
/// Incremented with each change of the layout below or of its meaning.
inline constexpr std::uint32_t kTableVersion = 4;

/// Most slots beyond the capacity. They are needed for registrations that the device has ended and
/// whose owner does not know yet.
inline constexpr std::uint32_t kMostSlack = 4096;
inline constexpr std::uint32_t kProcesses = 512;
inline constexpr std::uint32_t kTickets = 8192;
inline constexpr std::uint64_t kUntold = ~std::uint64_t{0};
/// Most tickets of one process, so that none can fill the queue alone.
inline constexpr std::uint32_t kTicketsOfOne = 2048;

static_assert(sizeof(SlotUse) == 64, "the data path's part of a slot is one cache line");
static_assert(alignof(SlotUse) == 64, "the data path's part of a slot is one cache line");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<SlotState>::is_always_lock_free);

/// Totals over the slots and waiting tickets of one process or of all.
struct Sums {
    std::uint64_t entries, bytes;  ///< registered, as far as is known
    std::uint64_t pinned_entries, pinned_bytes;
    std::uint64_t refused_entries, refused_bytes;  ///< not to be taken back at present
    std::uint64_t coming_entries, coming_bytes;    ///< announced, released or revoked
    std::uint64_t counted_entries;                 ///< whose uses the device counts
    std::uint64_t waiting_entries, waiting_bytes;
};

/// The part of a slot that only the holder of the table's lock reads and writes; the rest is its
/// SlotUse.
struct SlotRecord {
    Links links;  ///< in Header::free_slots or Header::leaving
    std::uint32_t generation;
    std::uint32_t process;  ///< row of its owner
    Class kind;
    std::uint32_t key;        ///< the device's key of it
    std::uint32_t named;      ///< `key` is set
    std::uint32_t counted;    ///< OnDevice::counted
    std::uint32_t ended;      ///< the device has ended it: not counted as an entry
    std::uint32_t reference;  ///< for the policy to use
    std::uint32_t ticket;     ///< the ticket whose waiter has yet to fetch the slot; else kNone
    std::uint64_t length;
    Time made;
    Time refused_until;          ///< 0: may be taken back; kNever: pinned
    std::uint32_t refused_once;  ///< its owner has refused to give it back beyond its share
};

enum class TicketState : std::uint32_t { kFree, kWaiting, kGranted, kRefused };

struct alignas(64) TicketRow {
    std::atomic<TicketState> state;  ///< a thread that waits in take() sleeps on it
    std::uint32_t generation;
    Links links;  ///< in Header::free_tickets or ProcessRow::waiting
    std::uint32_t process;
    Class kind;
    std::uint64_t bytes;
    std::uint64_t sequence;  ///< order of arrival
    std::uint32_t blocking;  ///< a thread waits in take(): no upcall is made
    SlotId slot;             ///< if granted
    Refusal why;             ///< if refused
};

/// One for each slot, each ticket and each process, in this order.
struct UpcallNode {
    Links links;            ///< in ProcessRow::upcalls
    std::uint32_t pending;  ///< 0: in no list; else 1 + Upcall::Kind
    std::uint64_t sequence;
};

enum class RowState : std::uint32_t { kFree, kLive };

struct alignas(64) ProcessRow {
    /// Incremented when there is work for the agent thread of the process, which sleeps on it.
    std::atomic<std::uint32_t> doorbell;
    RowState state;
    std::int32_t pid;
    std::uint32_t generation;
    std::uint64_t start;
    std::uint32_t share;  ///< 0: it only leads
    std::uint32_t tickets;
    std::uint64_t served;  ///< Header::sequence of its last grant
    std::uint64_t window;  ///< of the last kPressure upcall
    std::uint64_t revoked, released, granted, refused;
    Time collected;  ///< when the process last entered what its device has counted; 0: never
    Time asked;      ///< when it was last asked to; 0: never
    Sums sums;
    Ends waiting, upcalls;
};

struct Lease {
    std::uint32_t process, generation;  ///< holder's row, and its generation; kNone: no holder
    Time heartbeat;
    Time called;  ///< when the first ticket since the heartbeat was queued; 0: none was
    /// The holder has reported the sums to dat_regd, and sleeps until they change.
    std::uint32_t has_reported;
    /// Processes sleep until the lease changes hands, the holder among them.
    std::uint32_t is_followed;
};

/// Totals since the table was created.
struct Counts {
    std::uint64_t announced, revoked, granted, refused, reclaimed_from_dead;
};

struct Header {
    std::uint64_t magic;
    std::uint32_t version, layout;  ///< layout: number made of the sizes of the structures
    std::uint64_t size, pid_namespace;
    std::uint64_t capacity_entries, capacity_bytes;
    Time grace;
    std::uint32_t low, high;
    char adapter[kNameRoom];

    alignas(64) pthread_mutex_t mutex;
    alignas(64) std::uint64_t sequence;  ///< counts events, to order them
    Lease lease;
    /// So much of the capacity may be used; less than all of it if dat_regd gives the rest to
    /// other users.
    std::uint64_t limit_entries, limit_bytes;
    char policy[kNameRoom];
    std::atomic<std::uint32_t> policy_generation;
    std::uint32_t touched;  ///< slots from this index on were never used, and are in no list
    std::uint32_t rows;     ///< rows of processes from this index on were never used
    Ends free_slots, leaving, free_tickets;
    Sums sums;
    std::uint64_t shares;
    Time refusals_end;  ///< end of the first of them; kNever: none
    /// Pinned and refused at the last refuse_what_is_impossible(); kUntold if shares have changed.
    std::uint64_t told_entries, told_bytes;
    Time looked_for_dead;
    Counts counts;
};

static_assert(sizeof(std::atomic<TicketState>) == sizeof(std::uint32_t));

}  // namespace dapl::memory
