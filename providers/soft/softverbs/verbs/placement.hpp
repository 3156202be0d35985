// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A short message travels in the receiver's queues, and whoever polls its completion places it in
/// the posted buffer. A receiver that looks at the buffer alone must find it there as well: the
/// sender's service thread looks after some milliseconds whether its short messages have been
/// polled (placement_watch.hpp), and if not makes the receiver's service thread place them.
#pragma once

#include <cstdint>

namespace softverbs {

struct Target;

/// The short messages in one receiver's queue, by positions there. With the sender's send_lock.
struct Unplaced {
    std::uint64_t end = 0;      ///< behind the last one
    std::uint64_t overdue = 0;  ///< the same, a tick ago
    std::uint64_t told = 0;     ///< the receiver's service thread has been told of those before it

    /// At a tick. @return whether to look again.
    bool look(Target& receiver);
    /// Nobody will look again: the receiver's service thread is told at once.
    void leave(Target& receiver);
};

}  // namespace softverbs
