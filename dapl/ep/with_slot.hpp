// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fills a slot and posts its transfer to the device in one step.
#pragma once

#include "dapl/ep/ep.hpp"

namespace dapl {

/// An EP without a PZ has no queue pair to post to.
inline constexpr DAT_RETURN kNoQueuePair = error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);

/// Fills the next slot, which is free, and posts the transfer through post(queue pair, wr_id),
/// which returns errno. @param operation as in Slot. @param use nullptr without a decorator.
template <class Post>
[[gnu::always_inline]] inline DAT_RETURN with_room(Side& side, DAT_DTO_COOKIE cookie,
                                                   DAT_SEG_LENGTH length, std::uint32_t operation,
                                                   const Post& post, TransferUse* use = nullptr)
    REQUIRES(side.lock) {
    if (use) side.slots.set_use(*use);
    const int failed = post(side.queue_pair, side.slots.fill(cookie.as_64, length, operation));
    if (failed != 0) [[unlikely]] {
        if (use) side.slots.set_use(0);
        side.refusal = failed;
        return from_errno(failed);
    }
    side.slots.commit();
    if (use) *use = 0;
    return DAT_SUCCESS;
}

/// The same, if a slot is free; else returns kOutOfMemory.
template <class Post>
DAT_RETURN with_slot(Side& side, DAT_DTO_COOKIE cookie, DAT_SEG_LENGTH length,
                     std::uint32_t operation, const Post& post, TransferUse* use = nullptr)
    REQUIRES(side.lock) {
    if (!side.slots.has_room()) return kOutOfMemory;
    return with_room(side, cookie, length, operation, post, use);
}

}  // namespace dapl
