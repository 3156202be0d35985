// SPDX-License-Identifier: BSD-2-Clause
// Trace rings of this program's own copy of libsupport, read through the trace object as tools do.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "support/log/log.hpp"
#include "support/trace/trace_ring.hpp"
#include "test/support/process.hpp"

namespace {

using namespace support;

TraceRing* ring_of(std::uint32_t thread) {
    for (const auto& address : opendat_trace_object.rings) {
        auto* ring = reinterpret_cast<TraceRing*>(address.load());
        if (ring && ring->thread.load() == thread) return ring;
    }
    return nullptr;
}

TraceRing* own_ring() {
    return ring_of(static_cast<std::uint32_t>(gettid()));
}

TraceRecord record_at(TraceRing& ring, std::uint64_t number) {
    const auto* words = reinterpret_cast<const std::atomic<std::uint64_t>*>(&ring + 1);
    const std::uint64_t place = number % ring.capacity.load() * 8;
    std::uint64_t copy[8];
    for (int i = 0; i < 8; ++i) copy[i] = words[place + static_cast<std::uint64_t>(i)].load();
    TraceRecord record;
    std::memcpy(&record, copy, sizeof record);
    return record;
}

void tell(std::uint64_t value) {
    trace_record(false, TraceEvent::kCall, 7, 0xabc, value, 2, 3, 4, 5);
}

int count_rings() {
    int count = 0;
    for (const auto& address : opendat_trace_object.rings) count += address.load() != 0;
    return count;
}

TEST(TraceObject, says_what_it_is_before_anything_has_happened) {
    EXPECT_STREQ(opendat_trace_object.magic, kTraceMagic);
    EXPECT_EQ(opendat_trace_object.version, kTraceVersion);
    EXPECT_EQ(opendat_trace_object.size, sizeof(TraceObject));
    EXPECT_EQ(opendat_trace_object.record_size, sizeof(TraceRecord));
    EXPECT_EQ(opendat_trace_object.ring_header, sizeof(TraceRing));
}

TEST(TraceRing, an_event_stands_in_the_ring_of_its_thread_with_all_that_was_given) {
    tell(1);
    TraceRing* ring = own_ring();
    ASSERT_NE(ring, nullptr);
    const TraceRecord record = record_at(*ring, ring->next.load() - 1);
    EXPECT_EQ(record.hook, static_cast<std::uint16_t>(TraceHook::kDapl));
    EXPECT_EQ(record.event, static_cast<std::uint16_t>(TraceEvent::kCall));
    EXPECT_EQ(record.what, 7u);
    EXPECT_EQ(record.object, 0xabcu);
    for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(record.values[i], i + 1);
    EXPECT_GE(record.time, ring->begun.ticks.load());
    EXPECT_LE(record.time, trace_ticks());
}

TEST(TraceRing, a_failure_is_of_the_error_class_of_its_side) {
    trace_record(true, TraceEvent::kReturn, 1, 2);
    EXPECT_EQ(record_at(*own_ring(), own_ring()->next.load() - 1).hook, 0x5C4);
    set_trace_side(TraceSide::kDat);
    trace_record(false, TraceEvent::kReturn, 1, 2);
    EXPECT_EQ(record_at(*own_ring(), own_ring()->next.load() - 1).hook, 0x5C7);
    trace_record(true, TraceEvent::kReturn, 1, 2);
    EXPECT_EQ(record_at(*own_ring(), own_ring()->next.load() - 1).hook, 0x5C8);
    set_trace_side(TraceSide::kDapl);
}

TEST(TraceRing, a_full_ring_goes_on_over_its_oldest_events) {
    tell(0);
    TraceRing& ring = *own_ring();
    const std::uint64_t capacity = ring.capacity.load();
    for (std::uint64_t i = 0; i < 3 * capacity + 5; ++i) tell(i);
    const std::uint64_t next = ring.next.load();
    const TraceWindow window = trace_window(next, next, capacity);
    EXPECT_EQ(window.end - window.first, capacity - 1);
    for (std::uint64_t n = window.first; n < window.end; ++n)
        ASSERT_EQ(record_at(ring, n).values[0], 3 * capacity + 5 - (window.end - n));
}

TEST(TraceRing, what_was_overwritten_while_a_reader_copied_is_not_in_its_window) {
    EXPECT_EQ(trace_window(5, 5, 64).first, 1u);
    EXPECT_EQ(trace_window(5, 5, 64).end, 5u);
    EXPECT_EQ(trace_window(100, 110, 64).first, 47u);
    EXPECT_EQ(trace_window(100, 500, 64).first, 100u);
}

TEST(TraceRing, a_reader_never_sees_half_an_event_of_a_thread_that_goes_on) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint32_t> thread{0};
    test::Thread writer([&] {
        tell(0);
        thread = static_cast<std::uint32_t>(gettid());
        for (std::uint64_t i = 1; !stop; ++i)
            trace_record(false, TraceEvent::kCall, static_cast<std::uint32_t>(i), i, i, i, i, i, i);
    });
    while (thread == 0) std::this_thread::yield();
    TraceRing& ring = *ring_of(thread);
    const std::uint64_t capacity = ring.capacity.load();
    // Few at a time: a reader that copies more slowly than the writer writes gets no whole record.
    constexpr std::uint64_t kCopied = 16;
    int whole = 0;
    const auto end = test::Clock::now() + test::kDeadline;
    for (int round = 0; round < 200 || (whole == 0 && test::Clock::now() < end); ++round) {
        const std::uint64_t next = ring.next.load(std::memory_order_acquire);
        std::vector<TraceRecord> copies;
        for (std::uint64_t n = next - 1; n > 1 && next - n <= kCopied; --n)
            copies.push_back(record_at(ring, n));
        const TraceWindow window = trace_window(next, ring.next.load(), capacity);
        std::uint64_t n = next;
        for (const TraceRecord& copy : copies) {
            if (--n < window.first || n < 2) break;
            ++whole;
            ASSERT_EQ(copy.object, n - 1);
            for (const std::uint64_t value : copy.values) ASSERT_EQ(value, n - 1);
        }
    }
    stop = true;
    writer.join();
    EXPECT_GT(whole, 0);
}

TEST(TraceRing, each_thread_has_its_own) {
    constexpr int kThreads = 16;
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, kThreads);
    std::vector<test::Thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&all, &right, i] {
            for (std::uint64_t n = 0; n < 10; ++n) tell(static_cast<std::uint64_t>(i) * 100 + n);
            pthread_barrier_wait(&all);
            const std::uint64_t next = own_ring()->next.load();
            for (std::uint64_t n = 0; n < 10; ++n)
                right += record_at(*own_ring(), next - 10 + n).values[0] ==
                         static_cast<std::uint64_t>(i) * 100 + n;
        });
    for (test::Thread& thread : threads) thread.join();
    pthread_barrier_destroy(&all);
    EXPECT_EQ(right, kThreads * 10);
}

TEST(TraceRing, what_a_thread_did_outlives_it_until_others_need_the_ring) {
    std::uint32_t thread = 0;
    test::Thread([&thread] {
        tell(4711);
        thread = static_cast<std::uint32_t>(gettid());
    }).join();
    int found = 0;
    for (const auto& address : opendat_trace_object.rings) {
        auto* ring = reinterpret_cast<TraceRing*>(address.load());
        if (!ring || ring->last_thread.load() != thread || ring->thread.load() != 0) continue;
        ++found;
        EXPECT_EQ(record_at(*ring, ring->next.load() - 1).values[0], 4711u);
        EXPECT_GE(ring->ended.load(), ring->begun.ticks.load());
    }
    EXPECT_EQ(found, 1);
}

TEST(TraceRing, many_short_threads_one_after_the_other_take_few_rings) {
    const int before = count_rings();
    for (int i = 0; i < 100; ++i) test::Thread([] { tell(1); }).join();
    EXPECT_LE(count_rings(), before + 10);
}

TEST(TraceRing, a_forked_child_starts_anew) {
    if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer cannot follow threads after fork";
    tell(1);
    test::Thread([] { tell(2); }).join();
    const pid_t child = fork();
    if (child == 0) {
        int used = 0;
        for (const auto& address : opendat_trace_object.rings) {
            auto* ring = reinterpret_cast<TraceRing*>(address.load());
            used += ring && ring->next.load() != 0;
        }
        if (used != 0) _exit(1);
        // Another thread first takes the ring that this one had in the parent.
        test::Thread([] { tell(3); }).join();
        tell(4);
        TraceRing* ring = own_ring();
        if (!ring) _exit(2);
        _exit(ring->next.load() == 2 && record_at(*ring, 1).values[0] == 4 ? 0 : 3);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(TraceLevels, the_data_path_is_traced_from_level_6_on) {
    const int before = trace_level();
    for (int level = 0; level <= 10; ++level) {
        set_trace_level(level);
        EXPECT_EQ(data_path_traced(), level >= 6) << level;
    }
    set_trace_level(before);
}

TEST(TraceLevels, one_write_of_six_bytes_changes_them_from_outside) {
    const int before = trace_level();
    const TraceLevels outside(7);
    ASSERT_EQ(sizeof outside, 6u);
    std::memcpy(static_cast<void*>(&opendat_trace_object.level), &outside, sizeof outside);
    EXPECT_EQ(trace_level(), 7);
    EXPECT_TRUE(data_path_traced());
    set_trace_level(before);
    EXPECT_FALSE(data_path_traced());
}

TEST(TraceLevels, a_listener_of_a_probe_opens_the_data_path_at_any_level) {
    set_trace_level(3);
    opendat_trace_object.listeners.store(1);
    EXPECT_TRUE(data_path_traced());
    opendat_trace_object.listeners.store(0);
    EXPECT_FALSE(data_path_traced());
}

}  // namespace
