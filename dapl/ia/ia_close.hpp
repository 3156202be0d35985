// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The end of an adapter instance.
#pragma once

#include "dapl/adapter/ia.hpp"
#include "dapl/base/process_state.hpp"

namespace dapl {

/// First half of closing an adapter instance, whose handle is revoked: ends connections and memory.
/// Notifies the peers and may wait for them. @return false if a peer is in the middle of a
/// transfer: what the transfer uses is kept, and a later call continues.
bool end_transfers(Ia& ia);
/// Second half: destroys the rest. Events that were not dequeued are lost.
void tear_down(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);
/// Ends the service thread, the agent thread and the status server if no adapter instance is open.
void stop_service_if_unused(ProcessState& process) REQUIRES(process.open_mutex);

}  // namespace dapl
