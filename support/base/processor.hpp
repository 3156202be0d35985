// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Everything specific to one kind of processor, each with its equivalent for the others. Nothing
/// else uses an intrinsic or an assembler instruction.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdarg>
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

/// @return the cheapest count that grows with time, in units of a nanosecond or less: the
/// time-stamp counter, or CLOCK_MONOTONIC on other processors.
[[gnu::always_inline]] inline std::uint64_t processor_ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return nanoseconds(CLOCK_MONOTONIC);
#endif
}

/// @return whether processor_ticks() is a counter of the processor that runs at one rate on all
/// processors and in all their power states.
inline bool has_invariant_ticks() {
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && edx & 1U << 8;
#else
    return false;
#endif
}

/// Relaxes the processor in a loop that waits for another processor.
inline void pause_processor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

/// Adds to a word that only one thread at a time changes and others may read: one instruction in
/// place of the three that compilers make of a relaxed load and store.
[[gnu::always_inline]] inline void add_alone(std::atomic<std::uint64_t>& word,
                                             std::uint64_t amount) {
#if defined(__x86_64__)
    asm("addq %1, %0" : "+m"(word) : "er"(amount) : "cc");
#else
    word.store(word.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
#endif
}

/// The same for a word that its owner also reads with plain loads.
[[gnu::always_inline]] inline void add_alone(std::uint64_t& word, std::uint64_t amount) {
#if defined(__x86_64__)
    asm("addq %1, %0" : "+m"(word) : "er"(amount) : "cc");
#else
    std::atomic_ref(word).store(word + amount, std::memory_order_relaxed);
#endif
}

/// @param arguments of a function with variable arguments; none has been taken.
/// @return that function's return address, or nullptr where the list does not lead to it.
inline const void* return_address_of([[maybe_unused]] va_list arguments) {
#if defined(__x86_64__)
    // System V ABI, 3.5.7. The arguments in memory begin behind the return address.
    struct List {
        unsigned general_offset, vector_offset;
        void* const* in_memory;
        void* in_registers;
    };
    return reinterpret_cast<const List*>(arguments)->in_memory[-1];
#else
    return nullptr;
#endif
}

/// A relaxed load and a test. Compilers load an atomic with a separate instruction before they
/// compare it; this saves one instruction at each trace point.
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
