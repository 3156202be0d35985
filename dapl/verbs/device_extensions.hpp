// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a device may offer beyond verbs. Only soft0 does: libdaplsoft contains it and names its
/// functions; the other provider libraries find them where libsoftverbs.so is loaded before them.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace verbs {

enum class FailureCause : std::uint32_t {
    kUnknown,
    kNoSuchKey,        ///< no region and no window has or had it
    kKeyEnded,         ///< its region is deregistered, its window unbound
    kOutOfRange,       ///< the range asked for is not inside the region's or window's
    kMissingRight,     ///< the region or window does not give `rights`
    kOtherDomain,      ///< it belongs to another protection domain
    kOtherQueuePair,   ///< the window is bound to another queue pair
    kQueuePairRights,  ///< the queue pair does not give `rights`
    kMemoryGone,       ///< all that is right, and the program has unmapped or protected the memory
    kProcessEnded,     ///< the process at the other end: pid, signal, exit_code
    kProgramReplaced,  ///< it has called execve(): pid
    kQueuePairGone,    ///< the other end has been destroyed or reset
    kQueuePairFailed,  ///< the other end is in the error state
};

/// Why the connection of a queue pair ended, beyond what the status of a completion says. Members
/// that do not belong to the cause are 0.
struct QueuePairFailure {
    FailureCause cause;
    bool asked_by_peer;  ///< the peer's request was refused here
    bool is_remote;      ///< the key is the peer's
    bool is_window;
    bool is_receive;  ///< the key is of a segment of a receive
    bool is_by_exit;  ///< the process ended by exit(), whatever is known of its status
    std::uint32_t key;
    std::uint32_t rights;  ///< IBV_ACCESS_* bit that was needed; 0: reading one's own memory
    std::uint64_t address, length;                ///< asked for, in bytes
    std::uint64_t region_address, region_length;  ///< what the key stands for
    std::uint64_t ended_at;                       ///< CLOCK_MONOTONIC in ns; 0: not known
    std::int32_t ended_by;                        ///< process id; 0: not known
    std::int32_t pid;                             ///< of the other end; 0: not visible from here
    std::int32_t signal;                          ///< that ended it; 0: none, or not known
    std::int32_t exit_code;                       ///< -1: not known
};

/// Each function is nullptr where the device does not have it. All are thread safe.
struct DeviceExtensions {
    /// Zeroed memory that peers of the machine map. @return nullptr with errno.
    void* (*memory_alloc)(std::size_t size);
    void (*memory_free)(void* memory);
    /// @param qp of any device. @return false where it is not of soft0, or has not failed and its
    /// peer's process lives. System calls; no memory is allocated.
    bool (*failure_of)(ibv_qp* qp, QueuePairFailure* failure);
    /// Ends a memory registration of another process of the user
    /// (providers/soft/softverbs/end_registration.hpp).
    bool (*end_registration)(pid_t pid, std::uint32_t key);
};

/// The functions that a device has which was loaded before this library. Looks for symbols, which
/// allocates.
DeviceExtensions preloaded_extensions();

}  // namespace verbs
