// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The receive side of an EP with an SRQ: the number of receives it holds, its watermarks, and the
/// event of its last receive.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "dapl/base/dat.hpp"
#include "dapl/cm/lock.hpp"

namespace dapl {

class Ep;
class Srq;

/// An EP has one from its creation to its end, or has none.
class SharedReceives final {
  public:
    /// Counts as a user of the SRQ.
    SharedReceives(Ep& ep, Srq& queue);
    ~SharedReceives();
    SharedReceives(const SharedReceives&) = delete;
    SharedReceives& operator=(const SharedReceives&) = delete;

    Srq& srq;

    // For callers that hold the lock of the receive EVD; neither blocks.
    /// Counts a receive as held: its completion was polled, and is not consumed yet.
    void arrived() {
        const DAT_COUNT held = held_.load(std::memory_order_relaxed) + 1;
        held_.store(held, std::memory_order_relaxed);
        if (held > nearest_.load(std::memory_order_relaxed)) exceeded(held);
    }
    void taken() { held_.fetch_sub(1, std::memory_order_relaxed); }

    /// Sets the watermarks, and acts at once on one that is exceeded already.
    /// @param soft, hard DAT_WATERMARK_INFINITE or a number of receives held.
    DAT_RETURN set_watermarks(DAT_COUNT soft, DAT_COUNT hard) REQUIRES(connection_lock);
    /// Returns the current hard watermark, for set_watermarks().
    DAT_COUNT hard_watermark() const { return hard_.load(); }

    /// Posts the event if the soft watermark was exceeded; breaks the connection if the hard one
    /// was.
    void act_on_watermarks() REQUIRES(connection_lock);

    /// From now on messages may arrive on this queue pair. A queue pair that was never connected
    /// has no receives to give back, so it makes no event of its last receive.
    void begin(ibv_qp* queue_pair) { working_.store(queue_pair); }
    /// Posts the event of the last receive, once for each queue pair: the device has reported that
    /// the queue pair, in the error state, has completed its last receive. Thread safe.
    void last_reached(ibv_qp* queue_pair);
    /// Waits for that report, when the queue pair has been moved to the error state. Some devices
    /// never send it: then posts the event itself after they have had time to finish.
    void await_last(ibv_qp* queue_pair);

  private:
    void exceeded(DAT_COUNT held);
    void set_nearest();

    Ep& ep_;
    std::atomic<ibv_qp*> working_{nullptr};  ///< nullptr before begin() and after the last receive
    std::atomic<DAT_COUNT> held_{0};
    std::atomic<DAT_COUNT> soft_;  ///< disarmed when exceeded
    std::atomic<DAT_COUNT> hard_;
    std::atomic<DAT_COUNT> nearest_;  ///< the lower of the two, so that a message costs one compare
    std::atomic<bool> soft_exceeded_{false};
    std::atomic<bool> hard_exceeded_{false};
};

}  // namespace dapl
