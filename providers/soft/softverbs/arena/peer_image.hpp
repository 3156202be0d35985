// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks by reading a peer's memory whether it still runs the program that opened the device.
#pragma once

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"

namespace softverbs {

/// Checks whether process_vm_readv reaches the peer: the nonce read from its address space must
/// equal the one in its arena. This also detects a pid that belongs to another name space.
/// @return 0 or an errno; ECONNREFUSED while the peer is exiting.
int probe_process_vm(const Peer& peer, ArenaView arena);

/// @param cause what probe_process_vm() returned. @return what the user can do about it.
const char* remedy_of_process_vm(int cause);

/// @return whether the process has ended, or has called execve() and so ended the program that
/// opened the device. A process that the kernel does not let us read counts as alive. Makes system
/// calls.
bool image_has_ended(const Peer& peer);

}  // namespace softverbs
