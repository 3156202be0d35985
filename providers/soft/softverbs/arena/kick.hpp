// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Notifications and short waits between threads of different processes.
#pragma once

#include <atomic>
#include <cstdint>

namespace softverbs {

/// Asks the owner of an arena to serve one of its objects: sets the object's bit. The caller rings
/// the owner's doorbell afterwards.
void set_kick(std::atomic<std::uint64_t>* kicks, std::atomic<std::uint64_t>* summary,
              std::uint32_t index);

/// Writes to an eventfd. Unlike write() it is no cancellation point: callers hold locks. @return
/// whether it succeeded.
bool raise_event(int fd, std::uint64_t count = 1);

/// One turn of a loop that waits for another thread or process to finish a short piece of work.
void relax(int& turns);

}  // namespace softverbs
