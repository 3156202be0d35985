// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One side of an EP, requests or receives: its queue pair, the posted transfers, and the EVD that
/// gets their completions. The EP (dapl/ep) installs and retires it; the EVD finds the slots of
/// completions here.
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

/// Positions of one side's completions among those its EVD holds (held_completions.hpp). All zero:
/// no known positions.
struct HeldChain {
    std::uint32_t index = 0;  ///< number of the index that the positions are in; 0: none
    int first = 0;
    int last = 0;
};

/// A post to the device takes `lock` and no other lock.
struct Side {
    static constexpr std::uint64_t kNoWorkRequests = ~std::uint64_t{0};

    support::SpinLock lock;
    int max_segments GUARDED_BY(lock) = 0;
    /// Largest transfer, in bytes, that the fast path posts. 0 sends every transfer with data
    /// through the slow path: with delayed_ack, and for the receives of a datagram endpoint, whose
    /// operation is not DAT_DTO_RECEIVE.
    std::uint32_t max_message GUARDED_BY(lock) = 0;
    /// Attribute delayed_ack: a request that carries data completes when its data is placed
    /// at the peer.
    bool confirms GUARDED_BY(lock) = false;
    /// Receives the last byte of a write, read back to confirm it; of length 0 if no write is
    /// confirmed.
    ibv_sge read_back GUARDED_BY(lock) = {};
    /// Largest send or write, in bytes, that is posted inline (the device copies it at the post).
    std::uint32_t max_inline GUARDED_BY(lock) = 0;
    ibv_qp* queue_pair GUARDED_BY(lock) = nullptr;  ///< nullptr without a PZ
    /// Common part of the wr_ids of the current queue pair, different from that of every earlier
    /// one; kNoWorkRequests: there is no queue pair, or its further completions are dropped. Reset
    /// to kNoWorkRequests under the lock of this side's EVD, if it has one.
    std::atomic<std::uint64_t> work_request_base{kNoWorkRequests};
    SlotRing slots;                         ///< posts hold `lock`
    Evd* evd GUARDED_BY(lock) = nullptr;    ///< gets the completions; nullptr: none
    bool flushed GUARDED_BY(lock) = false;  ///< nothing more comes from the device
    int refusal GUARDED_BY(lock) = 0;       ///< errno of the last post that the device has refused
    mutable HeldChain held;                 ///< guarded by the lock of this side's EVD
    /// The marker has completed, so the device is done with everything posted before it.
    std::atomic<bool> finished{false};
    /// Number of this connection's requests whose flushed completions were consumed.
    std::atomic<DAT_COUNT> taken_flushed{0};

    std::uint32_t posted() EXCLUDES(lock) {
        support::SpinLockGuard guard(lock);
        return slots.posted();
    }
    bool is_stopped() EXCLUDES(lock) {
        support::SpinLockGuard guard(lock);
        return slots.stopped();
    }
    /// Stops posting to the device: later posts go to Evd::post_flushed().
    void stop() EXCLUDES(lock) {
        support::SpinLockGuard guard(lock);
        slots.stop();
    }
};

}  // namespace dapl
