// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Watches the queue pairs whose short messages may not have been polled (placement.hpp), by timer
/// ticks of the sender's service thread.
#pragma once

#include <atomic>

namespace softverbs {

class Adapter;
class QueuePair;

class PlacementWatch {
  public:
    explicit PlacementWatch(Adapter& adapter) : adapter_(adapter) {}

    /// Adds a queue pair that is not watched; it is watched until look_after_placement() returns
    /// false. Called by a post, with the queue pair's send_lock held. Allocates nothing; makes a
    /// system call only when the ticks have stopped.
    void add(QueuePair& qp);
    /// Removes a queue pair that is about to be destroyed. Called with the adapter's mutex held.
    void remove(const QueuePair& qp);
    /// Called by the service thread when the doorbell was rung: starts the ticks if a queue pair is
    /// watched.
    void serve_doorbell();

  private:
    void push(QueuePair& qp);
    void tick();
    void tick_later();

    Adapter& adapter_;
    std::atomic<QueuePair*> first_{nullptr};  ///< stack of the watched queue pairs
    std::atomic<bool> is_ticking_{false};
    unsigned idle_ticks_ = 0;  ///< used by the service thread alone
};

}  // namespace softverbs
