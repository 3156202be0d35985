// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The file that processes share, as it stands in memory. The truth is in the slots, the tickets
/// and the rows of processes, each with one word (`state`) whose store is what happens; what comes
/// before that store prepares it. Sums and lists are derived (accounting.hpp) and built anew where
/// a process died in the middle (repair.cpp). Everything is guarded by `Header::mutex` but what is
/// atomic.
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
/// Raised with each change of what stands below or what it means.
inline constexpr std::uint32_t kTableVersion = 1;

/// Slots beyond the capacity: for registrations that the device has ended, whose owner does not
/// know yet.
inline constexpr std::uint32_t kMostSlack = 4096;
inline constexpr std::uint32_t kProcesses = 512;
inline constexpr std::uint32_t kTickets = 8192;
/// Of one process, so that nobody fills the queue alone.
inline constexpr std::uint32_t kTicketsOfOne = 2048;

static_assert(sizeof(SlotUse) == 64, "the data path's part of a slot is one cache line");
static_assert(alignof(SlotUse) == 64, "the data path's part of a slot is one cache line");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<SlotState>::is_always_lock_free);

/// What slots add up to, of one process or of all.
struct Sums {
    std::uint64_t entries, bytes;  ///< registered as far as anybody can know
    std::uint64_t pinned_entries, pinned_bytes;
    std::uint64_t refused_entries, refused_bytes;  ///< not to be asked for at present
    std::uint64_t coming_entries, coming_bytes;    ///< announced, released or revoked
    std::uint64_t waiting_entries, waiting_bytes;
};

/// What only the holder of the table's lock reads and writes of a slot; the rest is its SlotUse.
struct SlotRecord {
    Links links;  ///< in Header::free_slots or Header::leaving
    std::uint32_t generation;
    std::uint32_t process;  ///< row of its owner
    Class kind;
    std::uint32_t key;        ///< the device's name of it
    std::uint32_t named;      ///< key is one
    std::uint32_t ended;      ///< the device has ended it: it is no entry any more
    std::uint32_t reference;  ///< the policy's word
    std::uint32_t ticket;     ///< that it was granted to, until the waiter has it; else kNone
    std::uint64_t length;
    Time made;
    Time refused_until;  ///< 0: may be asked for; kNever: pinned
};

enum class TicketState : std::uint32_t { kFree, kWaiting, kGranted, kRefused };

struct alignas(64) TicketRow {
    std::atomic<TicketState> state;  ///< who waits in take() sleeps on it
    std::uint32_t generation;
    Links links;  ///< in Header::free_tickets or ProcessRow::waiting
    std::uint32_t process;
    Class kind;
    std::uint64_t bytes;
    std::uint64_t sequence;  ///< of its arrival
    std::uint32_t blocking;  ///< a thread waits in take(): it gets no upcall
    SlotId slot;             ///< granted
    Refusal why;             ///< refused
};

/// One for each slot, each ticket and each process, in this order.
struct UpcallNode {
    Links links;            ///< in ProcessRow::upcalls
    std::uint32_t pending;  ///< 0: it stands in no list; else 1 + Upcall::Kind
    std::uint64_t sequence;
};

enum class RowState : std::uint32_t { kFree, kLive };

struct alignas(64) ProcessRow {
    /// Counts what its agent thread has to look at; that thread sleeps on it.
    std::atomic<std::uint32_t> doorbell;
    RowState state;
    std::int32_t pid;
    std::uint32_t generation;
    std::uint64_t start;
    std::uint32_t share;  ///< 0: one that only leads
    std::uint32_t tickets;
    std::uint64_t served;  ///< when it was last granted something, in the table's order
    std::uint64_t window;  ///< of the last kPressure
    std::uint64_t revoked, released, granted, refused;
    Sums sums;
    Ends waiting, upcalls;
};

struct Lease {
    std::uint32_t process, generation;  ///< row; kNone: nobody's
    Time heartbeat;
    Time called;  ///< by the first one who waits and has had no answer yet; 0: by nobody
};

/// Ever.
struct Counts {
    std::uint64_t announced, revoked, granted, refused, reclaimed_from_dead;
};

struct Header {
    std::uint64_t magic;
    std::uint32_t version, layout;  ///< layout: the sizes of the structures
    std::uint64_t size, pid_namespace;
    std::uint64_t capacity_entries, capacity_bytes;
    Time grace;
    std::uint32_t low, high;
    char adapter[kNameRoom];

    alignas(64) pthread_mutex_t mutex;
    alignas(64) std::uint64_t sequence;  ///< what happened before what
    Lease lease;
    /// What may be used of the capacity; less than that where others have a right to the rest.
    std::uint64_t limit_entries, limit_bytes;
    char policy[kNameRoom];
    std::uint32_t policy_generation;
    std::uint32_t touched;  ///< slots behind have never been used, and stand in no list
    std::uint32_t rows;     ///< those of processes behind have never been used
    Ends free_slots, leaving, free_tickets;
    Sums sums;
    std::uint64_t shares;
    Time refusals_end;                       ///< the first of them; kNever: none
    std::uint64_t told_entries, told_bytes;  ///< pinned and refused when waiters were last told
    Time looked_for_dead;
    Counts counts;
};

static_assert(sizeof(std::atomic<TicketState>) == sizeof(std::uint32_t));

}  // namespace dapl::memory
