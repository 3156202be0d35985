// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// All that is said to one kind of processor, each with its equivalent for the others. Nothing else
/// uses an intrinsic or an assembler instruction.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace support {

inline std::uint64_t nanoseconds(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// The cheapest count that grows with time, of a nanosecond or less each: the time-stamp counter,
/// elsewhere CLOCK_MONOTONIC.
[[gnu::always_inline]] inline std::uint64_t processor_ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return nanoseconds(CLOCK_MONOTONIC);
#endif
}

/// Whether processor_ticks() is a counter of the processor, with one rate in all states of all of
/// them.
inline bool has_invariant_ticks() {
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && edx & 1U << 8;
#else
    return false;
#endif
}

/// For a loop that waits for another processor.
inline void pause_processor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

/// Adds where one thread at a time does so and others may read: one instruction in place of the
/// three that compilers make of a relaxed load and store.
[[gnu::always_inline]] inline void add_alone(std::atomic<std::uint64_t>& word,
                                             std::uint64_t amount) {
#if defined(__x86_64__)
    asm("addq %1, %0" : "+m"(word) : "er"(amount) : "cc");
#else
    word.store(word.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
#endif
}

/// The same for a word that its owner also reads plainly.
[[gnu::always_inline]] inline void add_alone(std::uint64_t& word, std::uint64_t amount) {
#if defined(__x86_64__)
    asm("addq %1, %0" : "+m"(word) : "er"(amount) : "cc");
#else
    std::atomic_ref(word).store(word + amount, std::memory_order_relaxed);
#endif
}

/// A relaxed load and a test. Compilers load what is atomic with an instruction of its own before
/// they compare it: this saves one at each trace point.
[[gnu::always_inline]] inline bool is_set(const std::uint32_t& word) {
#if defined(__x86_64__)
    asm goto("cmpl $0, %0\n\tjne %l[set]" : : "m"(word) : "cc" : set);
    return false;
set:
    return true;
#else
    return __atomic_load_n(&word, __ATOMIC_RELAXED) != 0;
#endif
}

}  // namespace support
