// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Sleeping on a word that processes share. Words are read and written as atomics; who has changed
/// one wakes those who sleep on it.
#pragma once

#include <atomic>
#include <cstdint>

#include "broker/broker.hpp"

namespace dapl::memory {

/// Sleeps while the word holds `value`, until the deadline or some other reason: the caller looks
/// again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, Time deadline);
void futex_wake(const std::atomic<std::uint32_t>& word);

}  // namespace dapl::memory
