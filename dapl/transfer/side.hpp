// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One side of an EP, requests or receives: where it posts, what is posted, and who takes the
/// completions. The EP makes and ends it (dapl/ep), its EVD finds the slots of completions here.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "dapl/base/dat.hpp"
#include "dapl/transfer/decoration.hpp"
#include "dapl/transfer/slot_ring.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Evd;

/// The completions of one side that its EVD holds (held_completions.hpp). All-zero: none are known.
struct HeldChain {
    std::uint32_t index = 0;  ///< which index it belongs to; 0 is none
    int first = 0;
    int last = 0;
};

/// Posting takes its lock and nothing else.
struct Side {
    static constexpr std::uint64_t kNoWorkRequests = ~std::uint64_t{0};

    support::SpinLock lock;
    int max_segments GUARDED_BY(lock) = 0;
    /// Bytes of a transfer that is posted at once; 0 where all that have data are looked at: also
    /// the receives of a datagram endpoint, which are not those of a connection.
    std::uint32_t max_message GUARDED_BY(lock) = 0;
    /// Requests that bring data complete when it is placed: the attribute delayed_ack.
    bool confirms GUARDED_BY(lock) = false;
    /// Bytes of a send or write that the device copies at the post.
    std::uint32_t max_inline GUARDED_BY(lock) = 0;
    ibv_qp* queue_pair GUARDED_BY(lock) = nullptr;  ///< nullptr without a PZ
    /// What the wr_ids of the present queue pair have in common; kNoWorkRequests: there is none. It
    /// differs from those of the earlier ones. Changed with the lock of the EVD held that takes
    /// this side's completions.
    std::atomic<std::uint64_t> work_request_base{kNoWorkRequests};
    SlotRing slots;                         ///< posted to with the lock held
    Evd* evd GUARDED_BY(lock) = nullptr;    ///< takes the completions
    bool flushed GUARDED_BY(lock) = false;  ///< the device has nothing more to say
    mutable HeldChain held;                 ///< guarded by the lock of that EVD
    /// The device has done everything that was posted before the marker.
    std::atomic<bool> finished{false};
    /// Of this connection's requests, those that the consumer has had back flushed.
    std::atomic<DAT_COUNT> taken_flushed{0};
    /// Of a decorated adapter instance; else nullptr. Constant while the EP lives.
    std::unique_ptr<SlotShadow> shadow;

    std::uint32_t posted() EXCLUDES(lock) {
        support::SpinLockGuard guard(lock);
        return slots.posted();
    }
    bool is_stopped() EXCLUDES(lock) {
        support::SpinLockGuard guard(lock);
        return slots.stopped();
    }
    /// The device gets nothing more; posts go to Evd::post_flushed().
    void stop() EXCLUDES(lock) {
        support::SpinLockGuard guard(lock);
        slots.stop();
    }
};

}  // namespace dapl
