// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Private between the software device and the registration broker of the core: ends a memory
/// registration of another process of the user that is late in giving it up. The core gets this
/// function as one of the device's extensions (dapl/verbs/device_extensions.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>

extern "C" {

/// Ends a registration of soft0. From then on, peers that use its key, or the key of a window bound
/// to it, get a remote access error; its owner gets a local protection error when it names the key
/// in a request or a receive. The owner's ibv_dereg_mr of the region still succeeds.
///
/// The owner takes no part: it may be stopped. Transfers that were under way when the call began
/// are waited for, at most a tenth of a second.
/// @param pid the owner, in the caller's pid namespace; may be the caller. @param key the region's
/// lkey.
/// @return true: the registration has ended, and no data goes to or comes from its memory any more,
/// or its owner is dead. False, nothing done: no process of this user has such a region, or its
/// memory cannot be inspected (it is not dumpable, or ptrace is restricted). False, with the key
/// ended for new requests: a transfer was under way all that time, or it could not be determined
/// whether the owner was in one; a later call checks again. Thread safe. Not a cancellation point.
bool softverbs_end_registration(pid_t pid, std::uint32_t key);

}  // extern "C"
