// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How threads of different processes make each other look, and wait for each other.
#pragma once

#include <atomic>
#include <cstdint>

namespace softverbs {

/// Tells the owner of an arena that one of its objects wants attention: sets the object's bit. The
/// caller rings the owner's doorbell afterwards.
void set_kick(std::atomic<std::uint64_t>* kicks, std::atomic<std::uint64_t>* summary,
              std::uint32_t index);

/// Writes to an eventfd. Unlike write(), no cancellation point: locks are held.
bool raise_event(int fd, std::uint64_t count = 1);

/// One turn of a loop that waits for another thread or process to finish a short piece of work.
void relax(int& turns);

}  // namespace softverbs
