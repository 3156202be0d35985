// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The flight recorder: what the threads of a process did last in one library. Each thread writes
/// its own ring, without a lock. A reader, in this process, in another one or in a core file,
/// starts at the one TraceObject, which is the ELF section `opendat_trace` of the library.
///
/// Layout: fixed-width numbers in the byte order of the machine; the only pointers are the rings'
/// addresses. A reader compares magic and version, and reads `size` bytes of the object; then, for
/// each ring that is not 0, sizeof(TraceRing) bytes and the `capacity` records after them. Any
/// change of the layout is a new version.
///
/// A reader of a running process copies first and then reads `next` again (trace_window()): the
/// owner may have gone on and overwritten the oldest records.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/base/processor.hpp"

namespace support {

inline constexpr char kTraceMagic[8] = "ODTRACE";
inline constexpr std::uint32_t kTraceVersion = 1;
/// Name of the section; `strip` keeps it, and it holds the object alone.
#define SUPPORT_TRACE_SECTION "opendat_trace"

/// Largest number of rings of a library in a process: threads beyond that lose their events
/// (`lost`).
inline constexpr int kMaxTraceRings = 256;
/// From this level on the rings also record the data path: posts, completions, waits, and queries
/// that programs make as often.
inline constexpr int kDataPathLevel = 6;

/// Event classes. An event that reports a failure has the class with the next number.
enum class TraceHook : std::uint16_t {
    kDapl = 0x5C3,
    kDaplError = 0x5C4,
    kDat = 0x5C7,
    kDatError = 0x5C8
};

/// The kinds of records. The comments give the content of `what`; then that of `values`. A label is
/// text of up to 24 bytes in values[2] to values[4], padded with zeros.
enum class TraceEvent : std::uint16_t {
    kCall = 1,    ///< TraceCall; object: the first argument; the next arguments, up to five
    kReturn = 2,  ///< TraceCall; DAT_RETURN, id of the object that was made or 0
    kState = 3,   ///< cause; state before, state after (DAT_EP_STATE), label: the cause
    kSent = 4,    ///< 0; ports (own in the upper half), bytes of private data, label: which message
    kReceived = 5,  ///< the same
    kPost = 6,      ///< TraceCall; cookie, length of the first segment, segments, flags, DAT_RETURN
    kCompletion = 7,     ///< event number; cookie, status, operation, bytes, id of the EVD
    kEvent = 8,          ///< event number of any other event; object: the EVD
    kMessage = 9,        ///< number of a message reported to the user; its level
    kTrigger = 10,       ///< 0; id of the EVD that triggers the CNO
    kTriggerTaken = 11,  ///< 0; id of the EVD that a wait on the CNO has returned, or 0
};

/// One event, as readers see it. 64 bytes, a cache line.
struct TraceRecord {
    std::uint64_t time;  ///< ticks, see TraceClock
    std::uint16_t hook;  ///< TraceHook
    std::uint16_t event;
    std::uint32_t what;
    std::uint64_t object;  ///< id of the object, unique on the machine, or 0
    std::uint64_t values[5];
};
static_assert(sizeof(TraceRecord) == 64);

enum class TraceClock : std::uint32_t {
    kMonotonic = 1,   ///< ticks are nanoseconds of CLOCK_MONOTONIC
    kTimeStamps = 2,  ///< ticks are the processor's time-stamp counter: one rate on all processors
};

/// One moment on all clocks. Two of them give the length of a tick; rings of several processes of
/// one machine are merged by CLOCK_MONOTONIC.
struct TraceMoment {
    std::atomic<std::uint64_t> ticks;
    std::atomic<std::uint64_t> monotonic_ns;
    std::atomic<std::uint64_t> realtime_ns;
};

/// Lies in pages that the kernel clears in a forked child, so that no ring is in use there.
struct TraceRing {
    /// Number of the next record, counted from 1; 0: not used in this process. Record n is at n
    /// modulo capacity. Published after the record is written.
    std::atomic<std::uint64_t> next;
    std::atomic<std::uint32_t> thread;       ///< thread id of the owner; 0 when it has ended
    std::atomic<std::uint32_t> last_thread;  ///< thread id of the owner, or of the last one
    std::atomic<std::uint64_t> capacity;     ///< a power of two
    std::atomic<std::uint64_t> ended;        ///< when the owner ended, in ticks
    std::atomic<std::uint64_t> name[2];      ///< text, name of the thread
    /// When the thread got the ring. No two owners have the same `ticks` here: a reader that finds
    /// another value afterwards has read records of two threads.
    TraceMoment begun;
    TraceMoment latest;  ///< time of a recent record
    std::uint64_t reserved[4];
};
static_assert(sizeof(TraceRing) == 128);

/// Says which of the two trace levels applies to a library.
enum class TraceSide : std::uint32_t {
    kDat,   ///< libdat2
    kDapl,  ///< the providers, softverbs
};

/// The object of this library. Each word is read and written on its own: a tool may read it at any
/// moment.
struct alignas(64) TraceObject {
    char magic[8];
    std::uint32_t version;
    std::uint32_t size;  ///< of this structure
    /// Level in force, 0 to 10; negative until the setting has been read. A tool that changes it
    /// writes `data_path` as well, with one write of 6 bytes: TraceLevels.
    std::atomic<std::int32_t> level;
    /// The word that the points on the data path test, with `listeners` as one word: not 0 from
    /// kDataPathLevel on.
    std::atomic<std::uint16_t> data_path;
    /// USDT's semaphore: counts the listeners of the probes on the data path. Written by the
    /// kernel.
    std::atomic<std::uint16_t> listeners;
    std::uint32_t side;  ///< TraceSide
    std::uint32_t ring_header, record_size;
    std::atomic<std::uint32_t> ring_capacity;  ///< records per ring; 0 before the first one
    std::atomic<std::uint32_t> clock;          ///< TraceClock; 0 before the first ring
    std::uint32_t rings_count;
    std::atomic<std::uint64_t> lost;                   ///< events of threads that have no ring
    std::atomic<std::uint64_t> rings[kMaxTraceRings];  ///< addresses; the first 0 ends the list
};
static_assert(offsetof(TraceObject, data_path) == offsetof(TraceObject, level) + 4);
static_assert(offsetof(TraceObject, data_path) % 4 == 0);

/// The word that a tool writes to `level` to change it from outside.
struct [[gnu::packed]] TraceLevels {
    explicit TraceLevels(int new_level)
        : level(new_level), data_path(new_level >= kDataPathLevel) {}
    std::int32_t level;
    std::uint16_t data_path;
};

// ---- the writers' side ------------------------------------------------------------------------

/// The object of this library.
extern "C" [[gnu::visibility("hidden")]] TraceObject opendat_trace_object;

/// Called once by libdat2, when the library is loaded: all other libraries are on the DAPL side.
void set_trace_side(TraceSide side);

/// @return whether the points on the data path have anything to do. A comparison and a branch.
[[gnu::always_inline]] inline bool data_path_traced() {
    // Both halves lie in one aligned word, which nobody writes as one.
    const auto* word = reinterpret_cast<const std::uint32_t*>(&opendat_trace_object.data_path);
    return is_set(*word);
}

/// @return the class of an event of this library.
std::uint16_t trace_hook(bool failed);

/// Writes one record into the calling thread's ring, whatever the level. About 10 ns; a thread's
/// first one maps memory. Never waits, takes no lock, and is harmless in a signal handler (an event
/// that the signal interrupts may be lost). @param failed whether the event is of the error class.
void trace_record(bool failed, TraceEvent event, std::uint32_t what, std::uint64_t object,
                  std::uint64_t value0 = 0, std::uint64_t value1 = 0, std::uint64_t value2 = 0,
                  std::uint64_t value3 = 0, std::uint64_t value4 = 0);

/// @return the time in the unit of records' times; 0 before the first record.
std::uint64_t trace_ticks();

// ---- the readers' side ------------------------------------------------------------------------

/// The complete records of a ring: [first, end).
struct TraceWindow {
    std::uint64_t first, end;
};
/// @param next value of `next` before the records were copied. @param next_after its value now (the
/// same when the owner is stopped or dead).
inline TraceWindow trace_window(std::uint64_t next, std::uint64_t next_after,
                                std::uint64_t capacity) {
    // The owner may be in the middle of writing record next_after.
    const std::uint64_t first = next_after >= capacity ? next_after - capacity + 1 : 1;
    return {first < next ? first : next, next};
}

// ---- from within the process -------------------------------------------------------------------

/// The complete records of one ring, oldest first.
struct TraceCopy {
    std::uint32_t thread;
    char name[17];
    std::uint64_t begun_ticks, begun_ns;  ///< one moment on both clocks
    std::uint64_t latest_ticks, latest_ns;
    std::vector<TraceRecord> records;
};

/// Copies all rings of this library while their threads run.
std::vector<TraceCopy> copy_rings();

}  // namespace support
