// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The end of an adapter instance.
#pragma once

#include "dapl/adapter/ia.hpp"
#include "dapl/base/process_state.hpp"

namespace dapl {

/// Ends an adapter instance with everything that it owns. Peers are told, events that nobody has
/// taken are lost.
void tear_down(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);
/// The service thread lives as long as an adapter instance is open.
void stop_service_if_unused(ProcessState& process) REQUIRES(process.open_mutex);

}  // namespace dapl
