// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The end of an adapter instance.
#pragma once

#include "dapl/adapter/ia.hpp"
#include "dapl/base/process_state.hpp"

namespace dapl {

/// The first half of the end of an adapter instance, whose handle is revoked: connections and
/// memory. Peers are told. May wait for them. @return false when one is in the middle of a
/// transfer: what it uses is left, and a later call goes on.
bool end_transfers(Ia& ia);
/// The second half: the rest. Events that nobody has taken are lost.
void tear_down(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);
/// The service thread lives as long as an adapter instance is open.
void stop_service_if_unused(ProcessState& process) REQUIRES(process.open_mutex);

}  // namespace dapl
