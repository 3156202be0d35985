// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What users are told when a connection ends.
#pragma once

#include "dapl/cm/lock.hpp"
#include "dapl/ep/ep_history.hpp"

namespace dapl {

class Ep;

/// The EP has just become DISCONNECTED and its queue pair is flushed. An end that neither side's
/// program asked for, or at which requests were lost that this side still waited for, is told on
/// stderr, three times in a process; every other at trace level 5.
/// @return whether it was such an end.
bool tell_end(Ep& ep) REQUIRES(connection_lock);
/// The same for what the device reports only now of a connection that the peer has ended.
void tell_late(Ep& ep, const EpReason& reason) REQUIRES(connection_lock);

}  // namespace dapl
