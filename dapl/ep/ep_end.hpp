// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Messages to the user about the end of a connection.
#pragma once

#include "dapl/cm/lock.hpp"
#include "dapl/ep/ep_history.hpp"

namespace dapl {

class Ep;

/// Reports the end of a connection, when the EP has just become DISCONNECTED and its queue pair is
/// flushed. An end that neither side's program asked for, or a disconnect by the peer that flushed
/// requests of this side, is reported on stderr: the first three in a process, or all of them at
/// trace level 7. Any other end is traced at level 5.
/// @return whether it was such an end.
bool tell_end(Ep& ep) REQUIRES(connection_lock);
/// Reports a fault that becomes known only after the peer has ended the connection.
void tell_late(Ep& ep, const EpReason& reason) REQUIRES(connection_lock);

}  // namespace dapl
