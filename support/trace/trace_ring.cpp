// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Rings: finding, allocating, releasing and unmapping them. Takes no lock: a thread claims a ring
/// by changing its owner from 0 to itself, and a place in the object by changing that from 0 to the
/// ring's address.
#include "support/trace/trace_ring.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "support/settings/settings.hpp"
#include "support/trace/probes.hpp"
#include "support/trace/trace_level.hpp"

namespace support {
namespace {

/// The records of an ended thread are still of interest: a new thread reuses the ring of the thread
/// that ended first, and only when this many have ended.
constexpr int kKeptEnded = 8;
/// Number of records between two readings of the slower clocks.
constexpr std::uint64_t kMomentInterval = 64;

/// Has no destructor, which would keep the library mapped; the key below has one. Initial-exec,
/// like all thread-local variables here: others are allocated at a thread's first use, and the
/// loader ends the program when it finds no memory for one.
struct ThreadRing {
    TraceRing* ring;
    std::uint64_t begun;  ///< the ring's begun.ticks while it is this thread's, in this process
    std::uint64_t mask;
    bool refused;  ///< no ring is available for this thread
};
[[gnu::tls_model("initial-exec")]] thread_local ThreadRing t_ring;

pthread_key_t key;
bool have_key;
/// Set by the library's destructor, which runs at unload, and at exit beside other threads. It
/// unmaps nothing while a thread looks for a ring, and a thread that finds this set does not look.
std::atomic<bool> closed;
std::atomic<int> looking;

TraceClock best_clock() {
    return has_invariant_ticks() ? TraceClock::kTimeStamps : TraceClock::kMonotonic;
}

std::uint64_t ticks_of(TraceClock clock) {
    if (clock == TraceClock::kTimeStamps) [[likely]]
        return processor_ticks();
    return nanoseconds(CLOCK_MONOTONIC);
}

void note(TraceMoment& moment) {
    moment.monotonic_ns.store(nanoseconds(CLOCK_MONOTONIC), std::memory_order_relaxed);
    moment.ticks.store(trace_ticks(), std::memory_order_relaxed);
    moment.realtime_ns.store(nanoseconds(CLOCK_REALTIME), std::memory_order_relaxed);
}

TraceRing* ring_at(int place) {
    return reinterpret_cast<TraceRing*>(
        opendat_trace_object.rings[place].load(std::memory_order_acquire));
}

std::size_t ring_bytes() {
    return sizeof(TraceRing) + opendat_trace_object.ring_capacity.load() * sizeof(TraceRecord);
}

std::atomic<std::uint64_t>* words_of(TraceRing& ring) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(&ring + 1);
}

/// @return whether the ring had no owner.
bool take(TraceRing& ring, std::uint32_t thread) {
    std::uint32_t nobody = 0;
    return ring.thread.compare_exchange_strong(nobody, thread, std::memory_order_acq_rel);
}

/// @return a new ring with a place in the object, or nullptr.
TraceRing* map_ring(std::uint32_t thread) {
    void* pages =
        mmap(nullptr, ring_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    auto* ring = static_cast<TraceRing*>(pages);
    if (madvise(pages, ring_bytes(), MADV_WIPEONFORK) == 0) {
        ring->thread.store(thread, std::memory_order_relaxed);
        for (auto& place : opendat_trace_object.rings) {
            std::uint64_t empty = 0;
            if (place.load(std::memory_order_relaxed) == 0 &&
                place.compare_exchange_strong(empty, reinterpret_cast<std::uint64_t>(pages)))
                return ring;
        }
    }
    munmap(pages, ring_bytes());
    return nullptr;
}

struct Free {
    TraceRing* ring = nullptr;  ///< one never used in this process, else longest unused
    int count = 0;
};

Free find_free() {
    Free found;
    std::uint64_t oldest = ~std::uint64_t{0};
    for (int place = 0; place < kMaxTraceRings; ++place) {
        TraceRing* ring = ring_at(place);
        if (!ring) break;
        if (ring->thread.load(std::memory_order_acquire) != 0) continue;
        const bool fresh = ring->next.load(std::memory_order_relaxed) == 0;
        const std::uint64_t ended = fresh ? 0 : ring->ended.load(std::memory_order_relaxed);
        if (ended < oldest) found.ring = ring;
        oldest = ended < oldest ? ended : oldest;
        // One fresh ring is enough to map no other.
        found.count += fresh ? kKeptEnded + 1 : 1;
    }
    return found;
}

/// @return a ring that belongs to the thread now, or nullptr.
TraceRing* take_ring(std::uint32_t thread) {
    for (;;) {
        Free free = find_free();
        if (free.count <= kKeptEnded) {
            if (TraceRing* made = map_ring(thread)) return made;
            free = find_free();
        }
        if (!free.ring) return nullptr;
        if (take(*free.ring, thread)) return free.ring;
    }
}

void begin(TraceRing& ring, std::uint32_t thread) {
    ring.next.store(0, std::memory_order_release);
    ring.capacity.store(opendat_trace_object.ring_capacity.load(), std::memory_order_relaxed);
    ring.last_thread.store(thread, std::memory_order_relaxed);
    union {
        char text[16];
        std::uint64_t words[2];
    } name = {};
    pthread_getname_np(pthread_self(), name.text, sizeof name.text);
    ring.name[0].store(name.words[0], std::memory_order_relaxed);
    ring.name[1].store(name.words[1], std::memory_order_relaxed);
    note(ring.begun);
    note(ring.latest);
    ring.next.store(1, std::memory_order_release);
}

/// Reads the settings once per process; two threads that come first may both do it, with the same
/// result.
void read_settings() {
    if (opendat_trace_object.ring_capacity.load(std::memory_order_acquire) != 0) return;
    trace_level();
    opendat_trace_object.clock.store(static_cast<std::uint32_t>(best_clock()));
    const auto records = static_cast<std::uint32_t>(setting_integer(Setting::kTraceEvents));
    std::uint32_t unread = 0;
    opendat_trace_object.ring_capacity.compare_exchange_strong(unread, std::bit_ceil(records));
}

ThreadRing find_ring() {
    if (!have_key) return {nullptr, 0, 0, true};
    const auto thread = static_cast<std::uint32_t>(gettid());
    looking.fetch_add(1);
    TraceRing* ring = closed.load() ? nullptr : take_ring(thread);
    looking.fetch_sub(1);
    if (!ring) return {nullptr, 0, 0, true};
    begin(*ring, thread);
    pthread_setspecific(key, ring);
    return {ring, ring->begun.ticks.load(), ring->capacity.load() - 1, false};
}

/// @return whether the thread has a ring. It has none in a forked child: the parent's ring was
/// cleared there, and may belong to another thread by now.
bool has_ring() {
    const ThreadRing& own = t_ring;
    return own.ring && own.ring->begun.ticks.load(std::memory_order_relaxed) == own.begun;
}

/// Gets the thread a ring for its first event, which may come from a post in a thread that can be
/// cancelled at any moment.
/// @return whether the thread has a ring now.
[[gnu::noinline, gnu::cold]] bool first_event() {
    int type, state;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    const int error_number = errno;
    try {
        read_settings();  // a bad one is reported, an event that gets the thread its ring
        if (!t_ring.refused && !has_ring()) t_ring = find_ring();
    } catch (const std::bad_alloc&) {
        // The thread's next event tries again.
    }
    const bool found = !t_ring.refused && has_ring();
    if (!found) opendat_trace_object.lost.fetch_add(1, std::memory_order_relaxed);
    errno = error_number;
    pthread_setcancelstate(state, nullptr);
    pthread_setcanceltype(type, nullptr);
    return found;
}

/// Called at the end of each thread that has a ring. Later events, from the destructors of other
/// keys, get the thread a new one. In a forked child the ring may belong to another thread by now.
void thread_ended(void* value) {
    auto* ring = static_cast<TraceRing*>(value);
    t_ring = {};
    auto thread = static_cast<std::uint32_t>(gettid());
    if (ring->thread.load(std::memory_order_relaxed) != thread) return;
    ring->ended.store(trace_ticks(), std::memory_order_relaxed);
    ring->thread.store(0, std::memory_order_release);
}

TraceRecord record_at(TraceRing& ring, std::uint64_t number, std::uint64_t capacity) {
    const std::atomic<std::uint64_t>* word = words_of(ring) + (number & (capacity - 1)) * 8;
    std::uint64_t copy[8];
    for (std::uint64_t& value : copy) value = (word++)->load(std::memory_order_acquire);
    TraceRecord record;
    std::memcpy(&record, copy, sizeof record);
    return record;
}

/// @return a copy without records if the ring was not used, or another thread got it during the
/// copy.
TraceCopy copy_ring(TraceRing& ring) {
    TraceCopy copy{};
    const std::uint64_t next = ring.next.load(std::memory_order_acquire);
    const std::uint64_t capacity = ring.capacity.load(std::memory_order_relaxed);
    copy.thread = ring.last_thread.load(std::memory_order_relaxed);
    for (int i = 0; i < 2; ++i) {
        const std::uint64_t word = ring.name[i].load(std::memory_order_relaxed);
        std::memcpy(copy.name + 8 * i, &word, sizeof word);
    }
    copy.begun_ticks = ring.begun.ticks.load(std::memory_order_acquire);
    copy.begun_ns = ring.begun.monotonic_ns.load(std::memory_order_relaxed);
    if (next <= 1 || capacity == 0) return copy;
    const std::uint64_t first = next > capacity ? next - capacity : 1;
    for (std::uint64_t number = first; number < next; ++number)
        copy.records.push_back(record_at(ring, number, capacity));
    const TraceWindow whole =
        trace_window(next, ring.next.load(std::memory_order_acquire), capacity);
    const auto overwritten = static_cast<std::ptrdiff_t>(whole.first - first);
    copy.records.erase(copy.records.begin(), copy.records.begin() + overwritten);
    copy.latest_ticks = trace_ticks();
    copy.latest_ns = nanoseconds(CLOCK_MONOTONIC);
    if (ring.begun.ticks.load(std::memory_order_acquire) != copy.begun_ticks) copy.records.clear();
    return copy;
}

[[gnu::constructor]] void library_loaded() {
    have_key = pthread_key_create(&key, thread_ended) == 0;
}

/// Runs when the library is unloaded and at exit, when other threads may be in our functions: their
/// rings stay mapped, as empty pages.
[[gnu::destructor]] void library_unloaded() {
    closed.store(true);
    if (have_key) pthread_key_delete(key);
    TraceRing* own = t_ring.ring;
    t_ring = {};
    for (int place = 0; place < kMaxTraceRings; ++place) {
        TraceRing* ring = ring_at(place);
        if (!ring) break;
        if ((ring != own && ring->thread.load() != 0) || looking.load() != 0) {
            madvise(ring, ring_bytes(), MADV_DONTNEED);
            continue;
        }
        opendat_trace_object.rings[place].store(0);
        munmap(ring, ring_bytes());
    }
}

}  // namespace

std::vector<TraceCopy> copy_rings() {
    std::vector<TraceCopy> copies;
    const struct Looking {
        Looking() { looking.fetch_add(1); }
        ~Looking() { looking.fetch_sub(1); }
    } while_copying;
    for (int place = 0; place < kMaxTraceRings && !closed.load(); ++place) {
        TraceRing* ring = ring_at(place);
        if (!ring) break;
        TraceCopy copy = copy_ring(*ring);
        if (!copy.records.empty()) copies.push_back(std::move(copy));
    }
    return copies;
}

void set_trace_side(TraceSide side) {
    opendat_trace_object.side = static_cast<std::uint32_t>(side);
}

std::uint16_t trace_hook(bool failed) {
    const bool dat = opendat_trace_object.side == static_cast<std::uint32_t>(TraceSide::kDat);
    const auto hook = static_cast<std::uint16_t>(dat ? TraceHook::kDat : TraceHook::kDapl);
    return failed ? hook + 1 : hook;
}

std::uint64_t trace_ticks() {
    return ticks_of(
        static_cast<TraceClock>(opendat_trace_object.clock.load(std::memory_order_relaxed)));
}

void trace_record(bool failed, TraceEvent event, std::uint32_t what, std::uint64_t object,
                  std::uint64_t value0, std::uint64_t value1, std::uint64_t value2,
                  std::uint64_t value3, std::uint64_t value4) {
    if (!has_ring() && !first_event()) [[unlikely]]
        return;
    const ThreadRing& own = t_ring;
    TraceRing& ring = *own.ring;
    const std::uint64_t number = ring.next.load(std::memory_order_relaxed);
    std::atomic<std::uint64_t>* word = words_of(ring) + (number & own.mask) * 8;
    // Each word is a release store: a reader that sees one of them sees `next` as it was when this
    // record was begun.
    word[0].store(trace_ticks(), std::memory_order_release);
    word[1].store(trace_hook(failed) | static_cast<std::uint64_t>(event) << 16 |
                      static_cast<std::uint64_t>(what) << 32,
                  std::memory_order_release);
    word[2].store(object, std::memory_order_release);
    word[3].store(value0, std::memory_order_release);
    word[4].store(value1, std::memory_order_release);
    word[5].store(value2, std::memory_order_release);
    word[6].store(value3, std::memory_order_release);
    word[7].store(value4, std::memory_order_release);
    if (number % kMomentInterval == 0) [[unlikely]]
        note(ring.latest);
    ring.next.store(number + 1, std::memory_order_release);
}

TraceObject opendat_trace_object [[gnu::section(SUPPORT_TRACE_SECTION), gnu::used]] = {
    .magic = {'O', 'D', 'T', 'R', 'A', 'C', 'E', '\0'},
    .version = kTraceVersion,
    .size = sizeof(TraceObject),
    .level = -1,
    .data_path = 0,
    .listeners = 0,
    .side = static_cast<std::uint32_t>(TraceSide::kDapl),
    .ring_header = sizeof(TraceRing),
    .record_size = sizeof(TraceRecord),
    .ring_capacity = 0,
    .clock = 0,
    .rings_count = kMaxTraceRings,
    .lost = 0,
    .rings = {}};

#ifdef HAVE_SYS_SDT_H
// All probes share one semaphore: the upper half of the word that the data path tests.
static_assert(offsetof(TraceObject, listeners) == 22);
#define SET_SEMAPHORE(name)      \
    asm(".globl opendat_" #name  \
        "_semaphore\n"           \
        ".hidden opendat_" #name \
        "_semaphore\n"           \
        ".set opendat_" #name "_semaphore, opendat_trace_object + 22");
OPENDAT_PROBES(SET_SEMAPHORE)
#endif

}  // namespace support
