// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The data path of dat_evd_dequeue: polls the device for one completion and leaves everything else
/// to Evd::dequeue_slowly().
#pragma once

#include "dapl/base/codes.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl {

template <class TakePlain>
[[gnu::always_inline]] inline DAT_RETURN Evd::dequeue(DAT_EVENT* event,
                                                      const TakePlain& take_plain) {
    // Without the lock: a thread that polls for connection events does little else. With the lock
    // it would usually be preempted while holding it, just when the event thread, which needs it,
    // is to run on its processor.
    if (detours() == kNoQueue) [[unlikely]] {
        counters.count(DCNT_EVD_DEQUEUE_NOT_FOUND);
        return error(DAT_QUEUE_EMPTY);
    }
    if (lock_.try_lock()) [[likely]] {
        support::SpinLockGuard lock(lock_, support::SpinLockGuard::kTaken);
        if (detours() == 0) [[likely]] {
            if (ibv_poll_cq(queue_.get(), 1, &polled_) <= 0) {
                counters.count_alone(kDeviceEmpty);
                return raw(DAT_QUEUE_EMPTY);
            }
            if (take_plain(eps_, last_eps_, polled_, *event)) [[likely]] {
                event->evd_handle = handle();
                counters.count_alone(kFoundOnDevice);
                return DAT_SUCCESS;
            }
            keep_polled(handle());
        }
    }
    return dequeue_slowly(handle(), *event);
}

}  // namespace dapl
