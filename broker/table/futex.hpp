// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Futexes: sleeping on words that processes share. The words are accessed as atomics; whoever
/// changes one wakes those that sleep on it.
#pragma once

#include <atomic>
#include <cstdint>

#include "broker/broker.hpp"

namespace dapl::memory {

/// Sleeps while the word holds `value`, until the deadline. May return early: the caller checks the
/// word again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, Time deadline);
void futex_wake(const std::atomic<std::uint32_t>& word);
/// Counts a ring at the doorbell of a process, and wakes its agent thread at once.
inline void ring_at_once(std::atomic<std::uint32_t>& doorbell) {
    doorbell.fetch_add(1, std::memory_order_release);
    futex_wake(doorbell);
}

}  // namespace dapl::memory
