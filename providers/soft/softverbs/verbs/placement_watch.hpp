// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Looks after the queue pairs whose short messages may not have been polled (placement.hpp): ticks
/// of the sender's service thread.
#pragma once

#include <atomic>

namespace softverbs {

class Adapter;
class QueuePair;

class PlacementWatch {
  public:
    explicit PlacementWatch(Adapter& adapter) : adapter_(adapter) {}

    /// From a post, with the queue pair's send_lock: once until look_after_placement() is done with
    /// it. No allocation; a system call where the watch is asleep.
    void add(QueuePair& qp);
    /// The queue pair is about to go. With the adapter's mutex.
    void remove(const QueuePair& qp);
    /// Service thread: the doorbell was rung. Starts the ticks.
    void serve_doorbell();

  private:
    void push(QueuePair& qp);
    void tick();
    void tick_later();

    Adapter& adapter_;
    std::atomic<QueuePair*> first_{nullptr};  ///< stack of those that are watched
    std::atomic<bool> is_ticking_{false};
    unsigned idle_ticks_ = 0;  ///< service thread
};

}  // namespace softverbs
