// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The slot of a transfer, taken and handed to the device in one step.
#pragma once

#include "dapl/ep.hpp"

namespace dapl {

/// An EP without a PZ has no queue pair to post to.
inline constexpr DAT_RETURN kNoQueuePair = error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);

/// Takes a slot for the transfer and hands it to the device: post(queue pair, wr_id) is errno.
template <class Post>
DAT_RETURN with_slot(Ep::Side& side, const Slot& slot, const Post& post) REQUIRES(side.lock) {
    if (side.slots.full()) return kOutOfMemory;
    side.slots.next() = slot;
    const std::uint64_t id = side.work_request_base | side.slots.next_sequence();
    side.slots.commit();  // before the post: the completion may be taken before it returns
    const int failed = post(side.queue_pair, id);
    if (failed == 0) return DAT_SUCCESS;
    side.slots.roll_back();
    return from_errno(failed);
}

}  // namespace dapl
