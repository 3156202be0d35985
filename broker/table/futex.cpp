// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace dapl::memory {
namespace {

constexpr Time kSecond = 1000000000;
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace

Time now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Time>(time.tv_sec) * kSecond + static_cast<Time>(time.tv_nsec);
}

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, Time deadline) {
    // FUTEX_WAIT_BITSET takes an absolute time of the monotonic clock, FUTEX_WAIT a duration.
    timespec until{static_cast<time_t>(deadline / kSecond), static_cast<long>(deadline % kSecond)};
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, deadline == kNever ? nullptr : &until,
            nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace dapl::memory
