// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receiving half of an EP that takes its receives from an SRQ: how many it holds, its
/// watermarks, and the event that says that it has given all of them back.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "dapl/base/dat.hpp"
#include "dapl/cm/lock.hpp"

namespace dapl {

class Ep;
class Srq;

/// An EP has one from its creation to its end, or none.
class SharedReceives final {
  public:
    /// Counts as a user of the SRQ.
    SharedReceives(Ep& ep, Srq& queue);
    ~SharedReceives();
    SharedReceives(const SharedReceives&) = delete;
    SharedReceives& operator=(const SharedReceives&) = delete;

    Srq& srq;

    // With the lock of the receive EVD held; neither blocks.
    /// A message has taken a receive: its completion was polled and waits to be taken.
    void arrived() {
        const DAT_COUNT held = held_.load(std::memory_order_relaxed) + 1;
        held_.store(held, std::memory_order_relaxed);
        if (held > nearest_.load(std::memory_order_relaxed)) exceeded(held);
    }
    void taken() { held_.fetch_sub(1, std::memory_order_relaxed); }

    /// @param soft, hard DAT_WATERMARK_INFINITE or a number of receives held.
    DAT_RETURN set_watermarks(DAT_COUNT soft, DAT_COUNT hard) REQUIRES(connection_lock);
    /// The present one, for set_watermarks().
    DAT_COUNT hard_watermark() const { return hard_.load(); }

    /// What exceeding a watermark leads to, if it has been.
    void act_on_watermarks() REQUIRES(connection_lock);

    /// From now on messages may come over this queue pair. One that was never connected has nothing
    /// to give back, and nothing is told of it.
    void begin(ibv_qp* queue_pair) { working_.store(queue_pair); }
    /// The device says that the queue pair, in error, has given its last receive back. The consumer
    /// is told once for each queue pair. Any thread.
    void last_reached(ibv_qp* queue_pair);
    /// The queue pair is in error: waits until the device has said so. Some never do; for those it
    /// is said here when they have had the time to finish.
    void await_last(ibv_qp* queue_pair);

  private:
    void exceeded(DAT_COUNT held);
    void set_nearest();

    Ep& ep_;
    std::atomic<ibv_qp*> working_{nullptr};  ///< nullptr once the last receive is reached
    std::atomic<DAT_COUNT> held_{0};
    std::atomic<DAT_COUNT> soft_;  ///< disarmed by the event
    std::atomic<DAT_COUNT> hard_;
    std::atomic<DAT_COUNT> nearest_;  ///< the lower of the two: one compare for each message
    std::atomic<bool> soft_exceeded_{false};
    std::atomic<bool> hard_exceeded_{false};
};

}  // namespace dapl
