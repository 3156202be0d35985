// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What an EVD asks of the endpoints and shared receive queues that its completions are of. Defined
/// above it: dapl/ep/completion.cpp, but for break_connection() (dapl/ep/ep.cpp).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "dapl/base/dat.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/transfer/side.hpp"

namespace dapl {

class Ia;
class Srq;

// All with the lock of the EVD held that takes the completion:

/// Looks at a completion that was just polled, once. @return whether an event comes of it: it
/// belongs to a queue pair that an EP still has, and is not that of a marker, whose EP is told.
bool makes_event(const Ia& ia, const ibv_wc& completion);
/// @return the side of an EP that a completion that makes an event is of.
Side& side_of(const Ia& ia, const ibv_wc& completion);
/// @return the SRQ of such a completion of a shared receive; nullptr for all others.
const Srq* shared_queue_of(const Ia& ia, const ibv_wc& completion);
/// @return where the receive of a current completion stands among those posted on its queue.
std::uint32_t post_order(const ibv_wc& completion);
/// Frees the slot of a completion that makes an event and writes that, all but evd_handle and, of
/// one that is not an extension's, event_extension_data.
/// @return the EP and how its transfer failed (flushes not counted), else no EP.
FailedTransfer take_completion(const Ia& ia, const ibv_wc& completion, DAT_EVENT& event);

/// Of a transfer that has failed. Nothing happens where its EP has been freed meanwhile. No lock is
/// held.
void break_connection(const FailedTransfer& failed) EXCLUDES(connection_lock);

}  // namespace dapl
