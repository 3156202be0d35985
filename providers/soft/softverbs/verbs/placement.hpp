// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Placement of short messages in their receivers' buffers. A short message travels in the
/// receiver's queues, and whoever polls its completion copies it to the posted buffer. A receiver
/// that watches the buffer alone must find it there as well, so the sender's service thread checks
/// after some milliseconds whether its short messages have been polled (placement_watch.hpp), and
/// if not makes the receiver's service thread place them.
#pragma once

#include <cstdint>

namespace softverbs {

struct Target;

/// The short messages of one sender in one receiver's completion queue, by their positions there.
/// Guarded by the sender's send_lock.
struct Unplaced {
    std::uint64_t end = 0;      ///< position behind the last one
    std::uint64_t overdue = 0;  ///< value of `end` at the previous tick
    std::uint64_t told = 0;     ///< the receiver's service thread was kicked for those before it

    /// Called at each tick: kicks the receiver if messages of an earlier tick have not been polled.
    /// @return whether to check again at the next tick.
    bool look(Target& receiver);
    /// Kicks the receiver's service thread at once if messages have not been polled: no tick
    /// follows.
    void leave(Target& receiver);
};

}  // namespace softverbs
