// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions by which an EVD asks endpoints and shared receive queues about their completions.
/// The layer above defines them: dapl/ep/completion.cpp, and for break_connection() dapl/ep/ep.cpp.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "dapl/base/dat.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/transfer/side.hpp"

namespace dapl {

class Ia;
class Srq;

// All of these are called with the lock held of the EVD that polls the completion:

/// Examines a completion that was just polled; called once for each. @return whether it makes an
/// event: it belongs to the present queue pair of an EP and is not a marker's. A marker is reported
/// to its EP.
bool makes_event(const Ia& ia, const ibv_wc& completion);
/// @return the side of an EP to which a completion that makes an event belongs.
Side& side_of(const Ia& ia, const ibv_wc& completion);
/// @return the SRQ of such a completion if it is of a shared receive, else nullptr.
const Srq* shared_queue_of(const Ia& ia, const ibv_wc& completion);
/// @return the position of the completion's receive in its queue's posting order, modulo 2^23.
std::uint32_t post_order(const ibv_wc& completion);
/// Consumes a completion that makes an event: frees its slot and writes the event, except
/// evd_handle and, unless it is an extension's, event_extension_data.
/// @return the EP and its failure if the transfer failed and was not flushed, else no EP.
FailedTransfer take_completion(const Ia& ia, const ibv_wc& completion, DAT_EVENT& event);

/// Breaks the connection of the EP whose transfer has failed; does nothing if the EP has been
/// freed. No lock is held.
void break_connection(const FailedTransfer& failed) EXCLUDES(connection_lock);

}  // namespace dapl
