// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// From a verbs completion to a DAT event.
#pragma once

#include <infiniband/verbs.h>

#include "dapl/dat.hpp"

#include <cstdint>

namespace dapl {

class Ep;
class Ia;
class Srq;

// All with the lock of the EVD held that takes the completion.

/// @return whether the completion belongs to a queue pair that an EP still has.
bool is_current(const Ia& ia, const ibv_wc& completion);
/// @return whether it is of this side of this EP.
bool is_of_side(const Ep& ep, bool receives, const ibv_wc& completion);
/// @return the EP of a current completion of a shared receive; nullptr for all others.
Ep* shared_receiver(const Ia& ia, const ibv_wc& completion);
/// @return the SRQ of such a completion.
Srq& shared_queue(const ibv_wc& completion);
/// @return where the receive of a current completion stands among those posted on its queue.
std::uint32_t post_order(const ibv_wc& completion);

/// @return whether it is that of a marker, of which no event comes; its EP is told. With the lock
/// of the EVD held.
bool take_marker(const Ia& ia, const ibv_wc& completion);

/// Frees the slot of a current completion and writes its event, all but evd_handle.
/// @return the EP when its transfer failed (flushes not counted), else NULL.
DAT_EP_HANDLE take_completion(const Ia& ia, const ibv_wc& completion, DAT_EVENT& event);

/// What a verbs status means to a consumer.
DAT_DTO_COMPLETION_STATUS dto_status(ibv_wc_status status);

}  // namespace dapl
