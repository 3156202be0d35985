// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Private between the software device and the registration broker of the core: ends a memory
/// registration of another process of the user, which is late in giving it up. The core gets it as
/// one of the device's extensions (dapl/verbs/device_extensions.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>

extern "C" {

/// Ends a registration of soft0. From then on peers that come with its key, or with that of a
/// window bound to it, get a remote access error, and its owner, when he names it in a request or a
/// receive, a local protection error. His ibv_dereg_mr of it succeeds as ever.
///
/// The owner takes no part: he may be stopped. What was under way when the call began is waited
/// for, at most a tenth of a second.
/// @param pid the owner, in the caller's name space; may be the caller. @param key its lkey.
/// @return true: the registration has ended, and no data goes to or comes from its memory any more,
/// or its owner is dead. False, nothing done: no process of this user has such a region, or its
/// memory cannot be looked at (it is not dumpable, or ptrace is restricted). False, and the key has
/// ended for whoever comes now: somebody was in the middle of a transfer all that time, or whether
/// the owner was cannot be seen; a later call answers anew. Thread safe. No cancellation point.
bool softverbs_end_registration(pid_t pid, std::uint32_t key);

}  // extern "C"
