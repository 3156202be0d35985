// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The program at the other end, as its memory shows it.
#pragma once

#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/verbs/arena.hpp"

namespace softverbs {

/// Whether process_vm_readv reaches the peer: its arena's nonce, read through its address space,
/// must be the one that we see. ECONNREFUSED: it ends just now. Also tells apart processes in
/// different name spaces.
int probe_process_vm(const Peer& peer, ArenaView arena);

/// Whether the process has ended, or the program that opened the device: it has called execve().
/// Where the kernel does not let us look, it lives. System calls.
bool image_has_ended(const Peer& peer);

}  // namespace softverbs
